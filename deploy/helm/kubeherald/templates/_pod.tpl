{{/* What every pod that runs kubeherald shares: of a Deployment, and of `helm test`. Takes root, account, token, args. */}}
{{- define "kubeherald.podSpec" -}}
{{- $root := .root }}
{{- $values := .root.Values }}
serviceAccountName: {{ .account }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.podSecurityContext }}
securityContext: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: config
    configMap: { name: {{ include "kubeherald.configMapName" $root }} }
  - name: tmp
    emptyDir: { sizeLimit: 64Mi }
  {{- if $values.secrets }}
  - name: secrets
    projected:
      defaultMode: 0440
      sources:
        {{- range $values.secrets }}
        - secret: {{- toYaml . | nindent 12 }}
        {{- end }}
  {{- end }}
  {{- with $values.redis }}
  {{- if or .bundled.enabled .existingSecret }}
  - name: redis
    secret:
      defaultMode: 0440
      {{- if .bundled.enabled }}
      secretName: {{ include "kubeherald.redisSecretName" $root }}
      items: [{ key: {{ .bundled.passwordKey | quote }}, path: password }]
      {{- else }}
      secretName: {{ .existingSecret }}
      items:
        {{- with .urlKey }}
        - { key: {{ . | quote }}, path: url }
        {{- end }}
        {{- with .usernameKey }}
        - { key: {{ . | quote }}, path: username }
        {{- end }}
        {{- with .passwordKey }}
        - { key: {{ . | quote }}, path: password }
        {{- end }}
      {{- end }}
  {{- end }}
  {{- end }}
  {{- if .token }}
  - name: service-account
    projected:
      defaultMode: 0440
      sources:
        - serviceAccountToken: { path: token, expirationSeconds: 3607 }
        - configMap: { name: kube-root-ca.crt, items: [{ key: ca.crt, path: ca.crt }] }
        - downwardAPI: { items: [{ path: namespace, fieldRef: { apiVersion: v1, fieldPath: metadata.namespace } }] }
  {{- end }}
  {{- with $values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* The container, without its probes. Takes root, token, resources, args. */}}
{{- define "kubeherald.container" -}}
{{- $values := .root.Values }}
name: kubeherald
image: {{ include "kubeherald.image" (dict "image" $values.image "default" .root.Chart.AppVersion) }}
imagePullPolicy: {{ $values.image.pullPolicy }}
args: {{- toYaml .args | nindent 2 }}
env:
  - { name: KUBEHERALD_CONFIG, value: /etc/kubeherald/kubeherald.yaml }
  - name: POD_NAME
    valueFrom: { fieldRef: { apiVersion: v1, fieldPath: metadata.name } }
  - name: POD_NAMESPACE
    valueFrom: { fieldRef: { apiVersion: v1, fieldPath: metadata.namespace } }
  {{- with $values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $values.securityContext }}
securityContext: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .resources }}
resources: {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  # The whole folder: a file of it alone would never be renewed.
  - { name: config, mountPath: /etc/kubeherald, readOnly: true }
  - { name: tmp, mountPath: /tmp }
  {{- if $values.secrets }}
  - { name: secrets, mountPath: /run/secrets/kubeherald, readOnly: true }
  {{- end }}
  {{- if or $values.redis.bundled.enabled $values.redis.existingSecret }}
  - { name: redis, mountPath: /run/secrets/redis, readOnly: true }
  {{- end }}
  {{- if .token }}
  - { name: service-account, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true }
  {{- end }}
  {{- with $values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
