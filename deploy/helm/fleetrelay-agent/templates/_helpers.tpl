{{- define "agent.name" -}}
{{- default "fleetrelay-agent" .Values.nameOverride | trunc 53 | trimSuffix "-" }}
{{- end }}

{{/* The plain name, unless the release is called otherwise. */}}
{{- define "agent.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 53 | trimSuffix "-" }}
{{- else if eq .Release.Name (include "agent.name" .) }}
{{- include "agent.name" . }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "agent.name" .) | trunc 53 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "agent.selectorLabels" -}}
app.kubernetes.io/name: {{ include "agent.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "agent.labels" -}}
{{ include "agent.labelsWith" (list . dict) }}
{{- end }}

{{/* The labels of an object that has further ones of its own; those win over commonLabels. By two of them its pods are found. */}}
{{- define "agent.labelsWith" -}}
{{- $root := first . }}
{{- $own := include "agent.selectorLabels" $root | fromYaml }}
{{- $further := merge (dict) (default dict (last .)) (default dict $root.Values.commonLabels) }}
{{- range $label := keys $own }}
{{- if hasKey $further $label }}
{{- fail (printf "the label %s finds the pods of this release, so no value may set it; nameOverride changes app.kubernetes.io/name" $label) }}
{{- end }}
{{- end }}
{{- $chart := dict
  "app.kubernetes.io/part-of" "fleetrelay"
  "app.kubernetes.io/version" $root.Chart.AppVersion
  "app.kubernetes.io/managed-by" $root.Release.Service
  "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version) }}
{{- merge $own $further $chart | toYaml }}
{{- end }}

{{- define "agent.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "agent.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "agent.image" -}}
{{- $image := .Values.image }}
{{- $repository := ternary $image.repository (printf "%s/%s" $image.registry $image.repository) (empty $image.registry) }}
{{- if $image.digest }}
{{- printf "%s@%s" $repository $image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion $image.tag) }}
{{- end }}
{{- end }}

{{/* The Secret with the token; empty where the agent has none, since it has a certificate. */}}
{{- define "agent.tokenSecret" -}}
{{- if .Values.relay.tokenSecret.name }}
{{- .Values.relay.tokenSecret.name }}
{{- else if .Values.relay.token }}
{{- printf "%s-token" (include "agent.fullname" .) }}
{{- end }}
{{- end }}

{{/* The volume with the server's authority; empty where the image's own are trusted. */}}
{{- define "agent.caVolume" -}}
{{- with .Values.relay }}
{{- if .rootTlsSecret.name }}
secret:
  secretName: {{ .rootTlsSecret.name }}
  items:
    - { key: {{ .rootTlsSecret.key }}, path: ca.crt }
{{- else if or .rootTlsConfigMap.name .rootCA }}
configMap:
  name: {{ default (printf "%s-relay-ca" (include "agent.fullname" $)) .rootTlsConfigMap.name }}
  items:
    - { key: {{ ternary .rootTlsConfigMap.key "ca.crt" (not (empty .rootTlsConfigMap.name)) }}, path: ca.crt }
{{- end }}
{{- end }}
{{- end }}

{{/* The Secret with a certificate of the webhook from elsewhere; empty where the agent makes it. */}}
{{- define "agent.webhookTlsSecret" -}}
{{- with .Values.webhook }}
{{- if .enabled }}
{{- if .tlsSecret.name }}
{{- .tlsSecret.name }}
{{- else if .certManager.enabled }}
{{- printf "%s-webhook-tls" (include "agent.fullname" $) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Whether there is a policy: not for an agent that could remove it, nor on an API server older than 1.30. */}}
{{- define "agent.hasPolicy" -}}
{{- if and .Values.admissionPolicy.enabled (not .Values.rbac.clusterAdmin) (semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version) }}true{{ end }}
{{- end }}

{{/* Where the agent may write has to be said, and once. */}}
{{- define "agent.checkedPlaces" -}}
{{- with .Values.rbac }}
{{- if and (not .allNamespaces) (empty .namespaces) }}
{{- fail "where may the agent write? rbac.namespaces names the Namespaces, which have to exist; rbac.allNamespaces: true lets it write in all of them" }}
{{- end }}
{{- if and .allNamespaces .namespaces }}
{{- fail "rbac.namespaces and rbac.allNamespaces contradict each other: say one" }}
{{- end }}
{{- if and .clusterAdmin (not .allNamespaces) }}
{{- fail "with rbac.clusterAdmin the agent may write in all Namespaces: say rbac.allNamespaces: true as well" }}
{{- end }}
{{- range append $.Values.admissionPolicy.namespaces $.Release.Namespace | concat (list "kube-system") }}
{{- if has . $.Values.rbac.namespaces }}
{{- fail (printf "rbac.namespaces names %s, which is protected; a fleet that has to write there needs rbac.allNamespaces and rbac.clusterAdmin" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Only the leader writes: without election there can be but one. */}}
{{- define "agent.checked" -}}
{{- if .Values.rbac.create }}{{ include "agent.checkedPlaces" . }}{{ end }}
{{- if and (not .Values.leaderElection.enabled) (gt (int .Values.replicaCount) 1) }}
{{- fail "replicaCount is larger than 1, but leaderElection.enabled is false: two agents would work against each other" }}
{{- end }}
{{- if and .Values.relay.token .Values.relay.tokenSecret.name }}
{{- fail "relay.token and relay.tokenSecret.name are both given: say one" }}
{{- end }}
{{- if not (or .Values.relay.token .Values.relay.tokenSecret.name .Values.relay.clientTlsSecret.name) }}
{{- fail "the agent needs a token or a certificate: relay.tokenSecret.name and relay.clientTlsSecret.name name a Secret, relay.token is the token itself" }}
{{- end }}
{{- with .Values.webhook }}
{{- if and .certManager.enabled .tlsSecret.name }}
{{- fail "webhook.certManager.enabled and webhook.tlsSecret.name are both given: say one" }}
{{- end }}
{{- if and .certManager.enabled (not .certManager.issuerRef.name) }}
{{- fail "webhook.certManager.issuerRef.name is missing: name the Issuer or ClusterIssuer that signs" }}
{{- end }}
{{- end }}
{{- if gt (len (compact (list .Values.relay.rootCA .Values.relay.rootTlsSecret.name .Values.relay.rootTlsConfigMap.name))) 1 }}
{{- fail "say only one of relay.rootCA, relay.rootTlsSecret.name and relay.rootTlsConfigMap.name" }}
{{- end }}
{{- end }}
