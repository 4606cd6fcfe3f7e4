{{- define "kubeherald.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/*
A Service's name has no dots and begins with a letter. 46 characters: the pods of the StatefulSet `NAME-redis` have its name
and a hash in one label.
*/}}
{{- define "kubeherald.fullname" -}}
{{- $name := include "kubeherald.name" . }}
{{- $own := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- $full := default $own .Values.fullnameOverride | replace "." "-" }}
{{- ternary (printf "r%s" $full) $full (regexMatch "^[0-9]" $full) | trunc 46 | trimSuffix "-" }}
{{- end }}

{{- define "kubeherald.selectorLabels" -}}
app.kubernetes.io/name: {{ include "kubeherald.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kubeherald.labels" -}}
{{ include "kubeherald.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: kubeherald
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The account of pods that watch. */}}
{{- define "kubeherald.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "kubeherald.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "kubeherald.configMapName" -}}
{{- default (include "kubeherald.fullname" .) .Values.existingConfigMap }}
{{- end }}

{{- define "kubeherald.image" -}}
{{- printf "%s:%s" .image.repository (default .default .image.tag | toString) }}
{{- with .image.digest }}@{{ . }}{{ end }}
{{- end }}

{{/* The bundled Redis. Without a tag it is the one of files/redis-image.txt; a digest belongs to one tag. */}}
{{- define "kubeherald.redisImage" -}}
{{- $pinned := .root.Files.Get "files/redis-image.txt" | trim }}
{{- $image := .root.Values.redis.bundled.image }}
{{- if or $image.tag $image.digest }}
{{- include "kubeherald.image" (dict "image" $image "default" (splitList "@" $pinned | first)) }}
{{- else }}
{{- printf "%s:%s" $image.repository $pinned }}
{{- end }}
{{- end }}

{{/* The Deployments: name, role and what each has of its own. */}}
{{- define "kubeherald.deployments" -}}
{{- $name := include "kubeherald.fullname" . }}
{{- if eq .Values.mode "split" }}
- { name: {{ $name }}-watch, role: watch, replicas: {{ .Values.watch.replicas }} }
- { name: {{ $name }}-deliver, role: deliver, replicas: {{ .Values.deliver.replicas }} }
{{- else }}
- { name: {{ $name }}, role: all, replicas: {{ .Values.replicas }} }
{{- end }}
{{- end }}

{{/* The account of pods that only deliver: it has no permissions at all. */}}
{{- define "kubeherald.deliverAccountName" -}}
{{- ternary (printf "%s-deliver" (include "kubeherald.fullname" .)) "default" .Values.serviceAccount.create }}
{{- end }}

{{- define "kubeherald.redisSecretName" -}}
{{- default (printf "%s-redis" (include "kubeherald.fullname" .)) .Values.redis.bundled.existingSecret }}
{{- end }}
