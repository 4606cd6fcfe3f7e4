{{/* Fails on literal secrets, which would be readable in a ConfigMap or a Deployment. The message has the path of each. */}}
{{- define "kubeherald.checkSecrets" -}}
{{- $list := .Files.Get "files/secrets.yaml" | fromYaml }}
{{- $config := .Values.config }}
{{- $scan := dict "names" $list.names "texts" (printf "(?:%s)" (join ")|(?:" $list.texts)) "vars" (default dict $config.vars) "found" dict }}
{{- $start := dict "scan" $scan "field" "" "fields" list "depth" 0 }}
{{- range $name, $sink := default dict $config.sinks }}
{{- $type := default "" $sink.type }}
{{- $fields := default list (get $list.fields (ternary "webhook" $type (has $type $list.services))) }}
{{- if or (has $sink.preset $list.presets) (has $type $list.presets) }}{{ $fields = append $fields "url" }}{{ end }}
{{- include "kubeherald.findSecrets" (merge (dict "value" (omit $sink "messages" "labels") "path" (printf "config.sinks.%s" $name) "fields" $fields "byName" true) $start) }}
{{- end }}
{{- include "kubeherald.findSecrets" (merge (dict "value" (dict "redis" $config.redis) "path" "config" "fields" $list.fields.redis "section" "redis" "byName" true) $start) }}
{{- include "kubeherald.findSecrets" (merge (dict "value" (dict "server" $config.server) "path" "config" "fields" $list.fields.server "section" "server") $start) }}
{{- $rest := dict "config" (omit $config "sinks" "redis" "server" "tests") "redis.url" .Values.redis.url "extraArgs" .Values.extraArgs }}
{{- if regexMatch $scan.texts (toRawJson $rest) }}
{{- range $path, $value := $rest }}
{{- include "kubeherald.findSecrets" (merge (dict "value" (dict "" $value) "path" $path) $start) }}
{{- end }}
{{- end }}
{{- $env := dict }}
{{- range .Values.extraEnv }}{{ $_ := set $env .name (regexReplaceAll `\$\([^)]*\)` (default "" .value) "${env:OTHER}") }}{{ end }}
{{- include "kubeherald.findSecrets" (merge (dict "value" $env "path" "extraEnv" "byName" true) $start) }}
{{- with keys $scan.found | sortAlpha }}
{{- $ways := list }}
{{- range . }}
{{- if hasPrefix "extraEnv." . }}{{ $ways = append $ways "use valueFrom.secretKeyRef in place of value" }}
{{- else if regexMatch `^(config\.)?redis\.(url|password)$` . }}{{ $ways = append $ways "put the password of Redis into a Secret, name that in redis.existingSecret, and its key in redis.passwordKey (redis.urlKey for a whole URL)" }}
{{- else }}{{ $ways = append $ways "put it into a Secret, name that in `secrets`, and write \"${file:/run/secrets/kubeherald/KEY}\" here; or \"${env:NAME}\", with valueFrom.secretKeyRef in `extraEnv`" }}
{{- end }}
{{- end }}
{{- fail (printf "%s: literal secret, which would be readable in a ConfigMap or a Deployment: %s" (join ", " .) (uniq $ways | join "; ")) }}
{{- end }}
{{- end }}

{{/*
Adds the path of each secret under `value` to `scan.found`. `field` is the path within the section, `fields` lists the
secret ones of the section, `byName` also matches the names of keys.
*/}}
{{- define "kubeherald.findSecrets" -}}
{{- $at := . }}
{{- $value := .value }}
{{- if kindIs "string" $value }}
{{- /* A variable that is the whole value may be a map or a list. */}}
{{- $name := regexFind `^\$\{var:[^}]*\}$` $value | trimPrefix "${var:" | trimSuffix "}" }}
{{- if and $name (hasKey .scan.vars $name) (lt .depth 8) }}
{{- $next := omit $at "value" "depth" }}
{{- $_ := set $next "value" (get .scan.vars $name) }}
{{- $_ := set $next "depth" (add .depth 1 | int) }}
{{- include "kubeherald.findSecrets" $next }}
{{- else if include "kubeherald.isSecret" $at }}{{ $_ := set .scan.found .path true }}
{{- end }}
{{- else if kindIs "map" $value }}
{{- /* `{ name: Authorization, value: … }` of a list. */}}
{{- $isNamed := and .byName (hasKey $value "value") (regexMatch .scan.names (default $value.key $value.name | toString)) }}
{{- range $key, $inner := $value }}
{{- $next := omit $at "value" }}
{{- $_ := set $next "value" $inner }}
{{- if $key }}
{{- $_ := set $next "path" (printf "%s.%s" $at.path $key) }}
{{- if ne $key $at.section }}{{ $_ := set $next "field" (printf "%s.%s" $at.field $key | trimPrefix ".") }}{{ end }}
{{- $_ := set $next "isField" (or $at.isField (has $next.field $at.fields)) }}
{{- $_ := set $next "isNamed" (or $at.isNamed (and $at.byName (regexMatch $at.scan.names $key)) (and $isNamed (eq $key "value"))) }}
{{- end }}
{{- include "kubeherald.findSecrets" $next }}
{{- end }}
{{- else if kindIs "slice" $value }}
{{- range $i, $inner := $value }}
{{- $next := omit $at "value" "path" }}
{{- $_ := set $next "value" $inner }}
{{- $_ := set $next "path" (printf "%s[%d]" $at.path $i) }}
{{- include "kubeherald.findSecrets" $next }}
{{- end }}
{{- else if and .isField (not (kindIs "bool" $value)) (not (kindIs "invalid" $value)) }}{{ $_ := set .scan.found .path true }}
{{- end }}
{{- end }}

{{/* Not empty if a text is a literal secret: by its field, by the name of its key, or by its form. */}}
{{- define "kubeherald.isSecret" -}}
{{- $text := .value }}
{{- if contains "${var:" $text }}
{{- range until 8 }}
{{- range $name, $inner := $.scan.vars }}
{{- if kindIs "string" $inner }}{{ $text = replace (printf "${var:%s}" $name) $inner $text }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- $text = regexReplaceAll `\$\{(env|file):[^}]*\}` (replace "$${" "$ {" $text) "§" | trim }}
{{- $isLiteral := and $text (not (contains "§" $text)) }}
{{- if and $isLiteral .isField }}true
{{- else if and $isLiteral .isNamed (not (regexMatch `^\.{0,2}/|\{\{` $text)) }}true
{{- else if regexMatch .scan.texts $text }}true
{{- end }}
{{- end }}
