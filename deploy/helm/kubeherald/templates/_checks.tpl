{{/* Fails on values that the API server would reject, or that would not have the effect that they name. */}}
{{- define "kubeherald.checkPods" -}}
{{- $values := .Values }}
{{- $ours := dict
  "extraEnv" (list "KUBEHERALD_CONFIG" "POD_NAME" "POD_NAMESPACE")
  "extraVolumes" (list "config" "tmp" "secrets" "redis" "service-account")
  "extraVolumeMounts" (list "/etc/kubeherald" "/tmp" "/run/secrets/kubeherald" "/run/secrets/redis" "/var/run/secrets/kubernetes.io/serviceaccount") }}
{{- range $list, $names := $ours }}
{{- $seen := list }}
{{- range get $values $list }}
{{- $name := eq $list "extraVolumeMounts" | ternary .mountPath .name }}
{{- if has (trimSuffix "/" $name) $names }}{{ fail (printf "%s: %s is reserved by the chart: choose another one" $list $name) }}{{ end }}
{{- if has $name $seen }}{{ fail (printf "%s: %s is set twice: keep one" $list $name) }}{{ end }}
{{- $seen = append $seen $name }}
{{- end }}
{{- end }}
{{- $volumes := get $ours "extraVolumes" }}
{{- range $values.extraVolumes }}{{ $volumes = append $volumes .name }}{{ end }}
{{- range $values.extraVolumeMounts }}
{{- if not (has .name $volumes) }}{{ fail (printf "extraVolumeMounts: there is no volume %s for %s: name it in extraVolumes" .name .mountPath) }}{{ end }}
{{- end }}
{{- range $key := list "podLabels" "commonLabels" "podAnnotations" }}
{{- range $label, $_ := get $values $key }}
{{- if regexMatch `^(app\.kubernetes\.io/(name|instance|component|version|part-of|managed-by)|helm\.sh/chart|kubeherald\.dev/.*|kubectl\.kubernetes\.io/default-container)$` $label }}
{{- fail (printf "%s: %s is reserved by the chart: choose another one" $key $label) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $values.extraArgs }}
{{- if regexMatch `^--[a-z-]+\s` . }}{{ fail (printf "extraArgs: %s is one item of the list: write the option and its value as two" .) }}{{ end }}
{{- if regexMatch `^(-c|--config|--role)(=|$)` . }}{{ fail (printf "extraArgs: %s is set by the chart: use config, existingConfigMap or mode" .) }}{{ end }}
{{- end }}
{{- if and $values.rbac.create (not $values.serviceAccount.create) (has $values.serviceAccount.name (list "" "default" nil)) }}
{{- fail "serviceAccount.name is needed where the chart gives permissions (rbac.create) and creates no account: all pods of the namespace have the account default" }}
{{- end }}
{{- $scale := $values.deliver.autoscaling }}
{{- if gt (int $scale.minReplicas) (int $scale.maxReplicas) }}
{{- fail (printf "deliver.autoscaling.minReplicas is %d, more than maxReplicas (%d)" (int $scale.minReplicas) (int $scale.maxReplicas)) }}
{{- end }}
{{- end }}

{{/* Fails if the probes cannot reach `config.server`. */}}
{{- define "kubeherald.checkServer" -}}
{{- $server := .Values.config.server }}
{{- if kindIs "bool" $server }}
{{- if $server }}{{ fail "config.server is true: write { port: 9464 }, or leave it out" }}{{ end }}
{{- fail "config.server is false, but the probes of the pods need it: leave it out" }}
{{- end }}
{{- $server = default dict $server }}
{{- if hasKey $server "port" }}
{{- if kindIs "string" $server.port }}{{ fail "config.server.port must be a number: the probes ask it" }}{{ end }}
{{- if or (lt (int $server.port) 1) (gt (int $server.port) 65535) }}{{ fail (printf "config.server.port is %v: the probes need a port from 1 to 65535" $server.port) }}{{ end }}
{{- end }}
{{- if regexMatch `^(127\..*|localhost|::1)$` (default "" $server.host) }}
{{- fail (printf "config.server.host is %s, which the probes do not reach: leave it out" $server.host) }}
{{- end }}
{{- end }}

{{/* Fails for files that `config.include` names in the folder of the ConfigMap, which does not have them: extra volumes are elsewhere. */}}
{{- define "kubeherald.checkIncludes" -}}
{{- $include := default list .Values.config.include }}
{{- range .Values.extraVolumeMounts }}
{{- if hasPrefix "/etc/kubeherald/" (toString .mountPath) }}{{ $include = list }}{{ end }}
{{- end }}
{{- range kindIs "slice" $include | ternary $include (list $include) }}
{{- $from := . }}
{{- if kindIs "map" . }}{{ $from = .from }}{{ end }}
{{- range kindIs "slice" $from | ternary $from (list $from) }}
{{- if and . (not (or (regexMatch `^(kubeherald:|\$\{)` (toString .)) (regexMatch `^(/|\.\./)` (toString . | clean)))) }}
{{- fail (printf "config.include: %v is not in the ConfigMap, which has kubeherald.yaml alone: use what \"kubeherald config show\" prints as config, existingConfigMap with all files, or the absolute path of a file in an extra volume" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
