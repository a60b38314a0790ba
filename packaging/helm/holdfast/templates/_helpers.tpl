{{- define "holdfast.labels" -}}
app.kubernetes.io/name: holdfast
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{- define "holdfast.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- define "holdfast.env" -}}
- name: HOLDFAST_PUBLIC_URL
  value: {{ .Values.publicURL | quote }}
- name: CREDENTIALS_DIRECTORY
  value: /run/credentials
{{- if .Values.files.claim }}
- name: HOLDFAST_BLOB_URL
  value: file:///files
{{- else if not .Values.files.inSecret }}
{{- fail "files are lost with their pod: set files.claim, or files.inSecret=true with blob_url in the secret" }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: HOLDFAST_{{ $name | upper }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}
{{- define "holdfast.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end -}}
