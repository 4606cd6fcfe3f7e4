{{/*
Bytes of a Kubernetes quantity (`1.5Gi`, `500M`, `1e9`, a number), as an integer; empty if the text is not a quantity. Milli
(`m`) and units above Ti are not accepted.
*/}}
{{- define "kubeherald.bytes" -}}
{{- $text := toString . }}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 }}
{{- if regexMatch `^([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE]\+?[0-9]{1,2}|[kMGT]|[KMGT]i)?$` $text }}
{{- $unit := regexFind `([kMGT]|[KMGT]i)$` $text }}
{{- mulf (trimSuffix $unit $text | float64) (get $units $unit) | floor | int64 }}
{{- end }}
{{- end }}

{{/* Bytes of a size as redis.conf has it: binary units, `kb`, `mb`, `gb`. */}}
{{- define "kubeherald.redisBytes" -}}
{{- $units := dict "" 1 "kb" 1024 "mb" 1048576 "gb" 1073741824 }}
{{- $unit := regexFind `[kmg]b$` . }}
{{- mul (trimSuffix $unit . | int64) (get $units $unit) }}
{{- end }}

{{/* `maxmemory` of redis.conf: the value, or 60 % of the memory limit. */}}
{{- define "kubeherald.redisMaxmemory" -}}
{{- $redis := .Values.redis.bundled }}
{{- if $redis.maxmemory }}{{ $redis.maxmemory }}
{{- else }}{{ div (mul (include "kubeherald.bytes" (dig "limits" "memory" "" (default dict $redis.resources)) | int64) 60) 104857600 }}mb
{{- end }}
{{- end }}

{{/* Fails if the bundled Redis would have no memory limit, too high a one, or too small a volume. */}}
{{- define "kubeherald.checkRedisMemory" -}}
{{- $redis := .Values.redis.bundled }}
{{- $key := "redis.bundled.resources.limits.memory" }}
{{- $limit := dig "limits" "memory" "" (default dict $redis.resources) | toString }}
{{- $least := 67108864 }}
{{- if $limit }}
{{- $bytes := include "kubeherald.bytes" $limit }}
{{- if not $bytes }}{{ fail (printf "%s is %q, which is not an amount of memory: write 768Mi or 1.5Gi" $key $limit) }}{{ end }}
{{- if lt (int64 $bytes) (int64 $least) }}{{ fail (printf "%s is %s, too little for Redis: give it 64Mi or more" $key $limit) }}{{ end }}
{{- else if not $redis.maxmemory }}
{{- fail (printf "%s is missing, and redis.bundled.maxmemory too: without either, Redis has no limit and kubeherald no back-pressure" $key) }}
{{- end }}
{{- $max := include "kubeherald.redisMaxmemory" . }}
{{- $maxBytes := include "kubeherald.redisBytes" $max | int64 }}
{{- if lt $maxBytes 33554432 }}{{ fail (printf "redis.bundled.maxmemory is %s, too little for Redis: give it 32mb or more" $max) }}{{ end }}
{{- if $limit }}
{{- if gt (mul $maxBytes 5) (mul (include "kubeherald.bytes" $limit | int64) 4) }}
{{- fail (printf "redis.bundled.maxmemory is %s, more than 80 %% of %s (%s): a rewrite of the append-only file needs the rest, or Redis is killed" $max $key $limit) }}
{{- end }}
{{- end }}
{{- $size := $redis.persistence.size }}
{{- if lt (include "kubeherald.bytes" $size | int64) $maxBytes }}
{{- fail (printf "redis.bundled.persistence.size is %s, less than maxmemory (%s): the append-only file grows to several times the data" $size $max) }}
{{- end }}
{{- end }}
