{{- /* The template of a pod. */ -}}
{{- define "krmhub.pod" -}}
metadata:
  labels:
    {{- include "krmhub.labels" . | nindent 4 }}
  annotations:
    # Restarts the pod after a change of the settings.
    krmhub.dev/settings: {{ include "krmhub.settings" . | sha256sum }}
    prometheus.io/scrape: "true"
    prometheus.io/port: "8080"
    prometheus.io/path: /metrics
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  # Service links set KRMHUB_SERVICE_HOST and others, which the registry rejects as unknown settings.
  enableServiceLinks: false
  automountServiceAccountToken: false
  {{- include "krmhub.account" . | nindent 2 }}
  # Longer than the shutdown delay and the 40 seconds of a graceful shutdown.
  terminationGracePeriodSeconds: {{ if .Values.shared.enabled }}{{ add 50 .Values.shared.shutdownDelaySeconds }}{{ else }}60{{ end }}
  {{- if .Values.shared.enabled }}
  topologySpreadConstraints:
  - topologyKey: kubernetes.io/hostname
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "krmhub.selector" . | nindent 8 }}
  {{- end }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
  - name: krmhub
    image: {{ include "krmhub.image" . | quote }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    envFrom:
    - configMapRef:
        name: {{ include "krmhub.name" . }}
    {{- if .Values.shared.enabled }}
    - secretRef:
        name: {{ .Values.shared.databaseSecret }}
    - secretRef:
        name: {{ .Values.shared.blobSecret }}
    {{- end }}
    {{- range .Values.secrets }}
    - secretRef:
        name: {{ . }}
    {{- end }}
    {{- with .Values.extraEnv }}
    env:
    {{- toYaml . | nindent 4 }}
    {{- end }}
    ports:
    - name: http
      containerPort: 8080
    startupProbe:
      httpGet:
        path: /healthz
        port: http
      # Allows ten minutes to migrate a large database.
      periodSeconds: 2
      failureThreshold: 300
    livenessProbe:
      httpGet:
        path: /healthz
        port: http
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 6
    readinessProbe:
      httpGet:
        {{- if .Values.shared.enabled }}
        # If PostgreSQL or S3 is away, it is for all pods, and they still serve what they have in memory.
        path: /readyz?exclude=store&exclude=blobs&exclude=catalogs
        {{- else }}
        path: /readyz
        {{- end }}
        port: http
      periodSeconds: {{ if .Values.shared.enabled }}2{{ else }}10{{ end }}
      timeoutSeconds: 5
    resources:
      {{- toYaml .Values.resources | nindent 6 }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop:
        - ALL
    volumeMounts:
    - name: data
      mountPath: /var/lib/krmhub
    {{- if .Values.shared.enabled }}
    - name: keys
      mountPath: /var/lib/krmhub/keys
      readOnly: true
    {{- end }}
    - name: temporary
      mountPath: /tmp
    {{- with .Values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
  {{- if .Values.shared.enabled }}
  # Caches, and uploads that are not complete.
  - name: data
    emptyDir:
      sizeLimit: {{ .Values.storage.size }}
  # The group of the pod can read the key files: 288 is the mode 0440.
  - name: keys
    secret:
      secretName: {{ .Values.shared.keySecret }}
      defaultMode: 288
  {{- end }}
  # Commands in the pod, such as `krmhub fsck`, need space there.
  - name: temporary
    emptyDir:
      sizeLimit: {{ .Values.storage.size }}
  {{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
