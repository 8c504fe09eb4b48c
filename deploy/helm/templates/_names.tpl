{{- define "krmhub.name" -}}
{{- if contains "krmhub" .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-krmhub" .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* Without a registry, the cluster would pull an image of others from its default registry. */ -}}
{{- define "krmhub.image" -}}
{{- $registry := splitList "/" .Values.image.repository | first -}}
{{- if not (and (contains "/" .Values.image.repository) (or (contains "." $registry) (contains ":" $registry) (eq "localhost" $registry))) -}}
{{- fail (printf "image.repository is %q: set it to the name of the image with its registry, for example registry.example.com/krmhub" .Values.image.repository) -}}
{{- end -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{- define "krmhub.selector" -}}
app.kubernetes.io/name: krmhub
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "krmhub.labels" -}}
{{ include "krmhub.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- /* The settings; an Ingress adds the public URL and the addresses of its controller, unless they are set. */ -}}
{{- define "krmhub.settings" -}}
{{- $settings := dict -}}
{{- if .Values.ingress.enabled -}}
{{- $_ := set $settings "KRMHUB_PUBLIC_URL" (printf "https://%s" .Values.ingress.host) -}}
{{- with .Values.ingress.trustedProxies -}}
{{- $_ := set $settings "KRMHUB_TRUSTED_PROXIES" . -}}
{{- end -}}
{{- end -}}
{{- if .Values.shared.enabled -}}
{{- $_ := set $settings "KRMHUB_SHUTDOWN_DELAY_SECONDS" (int .Values.shared.shutdownDelaySeconds) -}}
{{- end -}}
{{- range $name, $value := .Values.settings -}}
{{- $_ := set $settings $name $value -}}
{{- end -}}
{{- /* Numbers of a values file are floating-point numbers, which would be written as 1e+06. */ -}}
{{- range $name, $value := $settings }}
{{ $name }}: {{ if kindIs "float64" $value }}{{ if eq (floor $value) $value }}{{ $value | int64 | toString | quote }}{{ else }}{{ $value | toString | quote }}{{ end }}{{ else }}{{ $value | toString | quote }}{{ end }}
{{- end }}
{{- end -}}

{{- define "krmhub.account" -}}
{{- if or .Values.serviceAccount.create .Values.serviceAccount.name -}}
serviceAccountName: {{ .Values.serviceAccount.name | default (include "krmhub.name" .) }}
{{- end -}}
{{- end -}}
