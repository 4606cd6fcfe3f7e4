{{/* Is anything else scaling the pods that deliver? */}}
{{- define "kubeherald.autoscaled" -}}
{{- if and (eq .Values.mode "split") (or .Values.deliver.autoscaling.hpa.enabled .Values.deliver.autoscaling.keda.enabled) }}true{{ end }}
{{- end }}

{{/* Are watches shared out by Leases? */}}
{{- define "kubeherald.leases" -}}
{{- $replicas := ternary .Values.watch.replicas .Values.replicas (eq .Values.mode "split") | int }}
{{- if hasKey .Values.config "leases" }}
{{- if or .Values.config.leases (kindIs "map" .Values.config.leases) }}true{{ end }}
{{- else if kindIs "bool" .Values.leases }}
{{- if .Values.leases }}true{{ end }}
{{- else if gt $replicas 1 }}true{{ end }}
{{- end }}

{{/* The namespace of Leases: the pod's own, unless the configuration names another. */}}
{{- define "kubeherald.leaseNamespace" -}}
{{- $leases := .Values.config.leases }}
{{- if kindIs "map" $leases }}{{ default .Release.Namespace $leases.namespace }}{{ else }}{{ .Release.Namespace }}{{ end }}
{{- end }}

{{- define "kubeherald.port" -}}
{{- $server := default dict .Values.config.server }}
{{- default 9464 $server.port | int }}
{{- end }}

{{/* The section `redis`: the configuration, and what the values add. */}}
{{- define "kubeherald.redis" -}}
{{- $redis := deepCopy (default dict .Values.config.redis) }}
{{- $values := .Values.redis }}
{{- if $values.bundled.enabled }}
{{- $_ := set $redis "url" (printf "redis://%s-redis:6379" (include "kubeherald.fullname" .)) }}
{{- $_ := set $redis "password" "${file:/run/secrets/redis/password}" }}
{{- else }}
{{- if $values.url }}{{ $_ := set $redis "url" $values.url }}{{ end }}
{{- if $values.urlKey }}{{ $_ := set $redis "url" "${file:/run/secrets/redis/url}" }}{{ end }}
{{- if $values.usernameKey }}{{ $_ := set $redis "username" "${file:/run/secrets/redis/username}" }}{{ end }}
{{- if $values.passwordKey }}{{ $_ := set $redis "password" "${file:/run/secrets/redis/password}" }}{{ end }}
{{- end }}
{{- toYaml $redis }}
{{- end }}

{{/* The whole kubeherald.yaml. */}}
{{- define "kubeherald.config" -}}
{{- $config := deepCopy .Values.config }}
{{- if not (or $config.watch $config.include) }}{{ $config = merge $config (.Files.Get "files/starter.yaml" | fromYaml) }}{{ end }}
{{- /* Helm reads YAML 1.1, in which the key `on` is true. */}}
{{- if and (kindIs "map" $config.notify) (hasKey $config.notify "true") }}
{{- $_ := set $config.notify "on" (get $config.notify "true") }}
{{- $_ := unset $config.notify "true" }}
{{- end }}
{{- $_ := set $config "cluster" (default (default "kubernetes" $config.cluster) .Values.cluster) }}
{{- $_ := set $config "redis" (include "kubeherald.redis" . | fromYaml) }}
{{- /* `::` also takes IPv4: the probes use the pod's address, of either family. */}}
{{- $_ := set $config "server" (mergeOverwrite (dict "host" "::" "port" 9464) (default dict $config.server)) }}
{{- if not (hasKey $config "leases") }}
{{- if include "kubeherald.leases" . }}{{ $_ := set $config "leases" true }}{{ end }}
{{- end }}
{{- toYaml $config }}
{{- end }}

{{/* A digest of the keys that a reload does not apply, as in docs/operating.md. */}}
{{- define "kubeherald.restartDigest" -}}
{{- $config := include "kubeherald.config" . | fromYaml }}
{{- $keys := pick $config "cluster" "kubernetes" "leases" "plugins" }}
{{- $_ := set $keys "redis" (omit $config.redis "username" "password" "tls" "share") }}
{{- $_ := set $keys "server" (pick $config.server "host" "port") }}
{{- toJson $keys | sha256sum | trunc 12 }}
{{- end }}

{{/* Ends with what cannot work, and what to write instead. */}}
{{- define "kubeherald.check" -}}
{{- $values := .Values }}
{{- $configured := default dict $values.config.redis }}
{{- $redis := $values.redis }}
{{- if and $values.config $values.existingConfigMap }}
{{- fail "config and existingConfigMap are both given: leave one of them out" }}
{{- end }}
{{- if $values.existingConfigMap }}
{{- if $values.cluster }}{{ fail "cluster has no effect with existingConfigMap: write it into kubeherald.yaml of that ConfigMap" }}{{ end }}
{{- if $redis.url }}{{ fail "redis.url has no effect with existingConfigMap: write it into kubeherald.yaml of that ConfigMap" }}{{ end }}
{{- end }}
{{- if and $values.config (not $values.config.include) (not (and $values.config.watch $values.config.sinks $values.config.rules)) }}
{{- if or $values.config.watch $values.config.sinks $values.config.rules }}
{{- fail "config has some of watch, sinks and rules, but not all of them: what is watched, where it can go, and what goes where" }}
{{- end }}
{{- end }}
{{- $ways := compact (list (ternary "redis.bundled.enabled" "" $redis.bundled.enabled) (ternary "redis.url" "" (ne $redis.url "")) (ternary "redis.urlKey" "" (ne $redis.urlKey "")) (ternary "config.redis" "" (or (hasKey $configured "url") (hasKey $configured "sentinel") (hasKey $configured "cluster")))) }}
{{- if gt (len $ways) 1 }}
{{- fail (printf "%s name several Redis: keep one" (join " and " $ways)) }}
{{- end }}
{{- if and (not $ways) (not $values.existingConfigMap) }}
{{- fail "there is no Redis, in which deliveries wait: set redis.url (with redis.existingSecret for its password), or redis.bundled.enabled=true for one that this chart runs" }}
{{- end }}
{{- if and (or $redis.urlKey $redis.usernameKey $redis.passwordKey) (not $redis.existingSecret) }}
{{- fail "redis.urlKey, redis.usernameKey and redis.passwordKey are keys of redis.existingSecret: name it" }}
{{- end }}
{{- if and $redis.existingSecret $redis.bundled.enabled }}
{{- fail "redis.existingSecret is for a Redis that runs elsewhere: for the password of the bundled one, use redis.bundled.existingSecret" }}
{{- end }}
{{- if and $redis.existingSecret (not (or $redis.urlKey $redis.usernameKey $redis.passwordKey)) }}
{{- fail "redis.existingSecret is named, but none of its keys: set redis.passwordKey, redis.usernameKey or redis.urlKey" }}
{{- end }}
{{- include "kubeherald.checkSecrets" . }}
{{- if $redis.bundled.enabled }}{{ include "kubeherald.checkRedisMemory" . }}{{ end }}
{{- if and $values.networkPolicy.egress.restrict (not $values.networkPolicy.enabled) }}
{{- fail "networkPolicy.egress.restrict needs networkPolicy.enabled=true: there is no policy to restrict egress" }}
{{- end }}
{{- include "kubeherald.checkIncludes" . }}
{{- include "kubeherald.checkServer" . }}
{{- include "kubeherald.checkPods" . }}
{{- if and $values.cluster $values.config.cluster (ne $values.cluster $values.config.cluster) }}
{{- fail (printf "cluster is %s and config.cluster is %s: keep one" $values.cluster $values.config.cluster) }}
{{- end }}
{{- $given := dict "username" (or $redis.bundled.enabled $redis.usernameKey) "password" (or $redis.bundled.enabled $redis.passwordKey) "tls" $redis.bundled.enabled }}
{{- range $key, $isGiven := $given }}
{{- if and $isGiven (hasKey $configured $key) }}
{{- fail (printf "config.redis.%s and %s are both set: keep one" $key (ternary "redis.bundled.enabled" (printf "redis.%sKey" $key) $redis.bundled.enabled)) }}
{{- end }}
{{- end }}
{{- if and $values.deliver.autoscaling.hpa.enabled $values.deliver.autoscaling.keda.enabled }}
{{- fail "deliver.autoscaling.hpa and deliver.autoscaling.keda would fight each other: enable one" }}
{{- end }}
{{- if and (ne $values.mode "split") (or $values.deliver.autoscaling.hpa.enabled $values.deliver.autoscaling.keda.enabled) }}
{{- fail "deliver.autoscaling scales the pods that deliver, and only mode: split has them" }}
{{- end }}
{{- if and $values.metrics.serviceMonitor.enabled (not $values.service.enabled) }}
{{- fail "metrics.serviceMonitor needs service.enabled=true; metrics.podMonitor does without" }}
{{- end }}
{{- if and $values.metrics.serviceMonitor.enabled $values.metrics.podMonitor.enabled }}
{{- fail "metrics.serviceMonitor and metrics.podMonitor would scrape each pod twice: enable one" }}
{{- end }}
{{- end }}
