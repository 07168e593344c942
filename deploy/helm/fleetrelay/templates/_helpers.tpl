{{- define "fleetrelay.name" -}}
{{- default "fleetrelay-server" .Values.nameOverride | trunc 53 | trimSuffix "-" }}
{{- end }}

{{/* The plain name, unless the release is called otherwise: names in the documents hold for the usual release. */}}
{{- define "fleetrelay.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 53 | trimSuffix "-" }}
{{- else if has .Release.Name (list "fleetrelay" (include "fleetrelay.name" .)) }}
{{- include "fleetrelay.name" . }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "fleetrelay.name" .) | trunc 53 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "fleetrelay.selectorLabels" -}}
app.kubernetes.io/name: {{ include "fleetrelay.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "fleetrelay.labels" -}}
{{ include "fleetrelay.labelsWith" (list . dict) }}
{{- end }}

{{/* The labels of an object that has further ones of its own; those win over commonLabels. By two of them its pods are found. */}}
{{- define "fleetrelay.labelsWith" -}}
{{- $root := first . }}
{{- $own := include "fleetrelay.selectorLabels" $root | fromYaml }}
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

{{- define "fleetrelay.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "fleetrelay.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "fleetrelay.image" -}}
{{- $image := .Values.image }}
{{- $repository := ternary $image.repository (printf "%s/%s" $image.registry $image.repository) (empty $image.registry) }}
{{- if $image.digest }}
{{- printf "%s@%s" $repository $image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion $image.tag) }}
{{- end }}
{{- end }}

{{- define "fleetrelay.apiSecret" -}}
{{- default (printf "%s-api" (include "fleetrelay.fullname" .)) .Values.apiToken.existingSecret }}
{{- end }}

{{/* What the FleetPolicy of these values says; empty if they say nothing. */}}
{{- define "fleetrelay.policySpec" -}}
{{- $spec := deepCopy (default dict .Values.policy) }}
{{- with .Values.safeMode }}{{ $_ := set $spec "safeMode" . }}{{ end }}
{{- if $spec }}{{ toYaml $spec }}{{ end }}
{{- end }}

{{- define "fleetrelay.relayConfig" -}}
{{- $relay := deepCopy .Values.relay }}
{{- if and (ne (dig "tls" "mode" "mtls" $relay) "insecure") (not (dig "tls" "certificate" nil $relay)) }}
{{- $services := list (include "fleetrelay.fullname" .) }}
{{- if .Values.xds }}{{ $services = append $services (printf "%s-xds" (first $services)) }}{{ end }}
{{- $names := list }}
{{- range $service := $services }}
{{- $namespaced := printf "%s.%s" $service $.Release.Namespace }}
{{- $names = concat $names (list $service $namespaced (printf "%s.svc" $namespaced) (printf "%s.svc.cluster.local" $namespaced)) }}
{{- end }}
{{- $tls := default dict $relay.tls }}
{{- $_ := set $tls "names" (concat (default list $tls.names) $names | uniq) }}
{{- $_ := set $relay "tls" $tls }}
{{- end }}
{{- $http := deepCopy .Values.http }}
{{- if not $http.people }}
{{- $_ := set $http "people" (list (dict "name" "token" "role" "operate" "tokenFile" "/etc/fleetrelay/api/token")) }}
{{- end }}
{{- $sources := .Values.sources }}
{{- if include "fleetrelay.policySpec" . }}
{{- /* The source of the chart comes first; yours keeps the rights that the first one has. */}}
{{- if $sources }}
{{- $first := merge (dict) (first $sources) (dict "allow" (dict "kinds" (list "*") "labelKeys" (list "*"))) }}
{{- $sources = prepend (rest $sources) $first }}
{{- end }}
{{- $sources = prepend $sources (dict "name" "chart" "allow" (dict "kinds" (list "FleetPolicy")) "files" (dict "path" "/etc/fleetrelay/policy")) }}
{{- end }}
{{- $said := false }}
{{- range $sources }}
{{- if hasKey . "kubernetes" }}
{{- $said = true }}
{{- if not (or $.Values.customResources.enabled .kubernetes.kubeconfig) }}
{{- fail (printf "the source %s reads custom resources of this cluster: set customResources.enabled, which gives the rights" .name) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.customResources.enabled (not $said) }}
{{- /* With the rights of your first source, as --custom-resources. */}}
{{- $given := .Values.sources | default list }}
{{- $allow := dict "kinds" (list "*") "labelKeys" (list "*") }}
{{- if $given }}
{{- $own := (first $given).allow | default dict }}
{{- $files := prepend ($own.files | default list) (first $given).name | uniq }}
{{- $allow = merge (dict "files" $files) $own $allow }}
{{- end }}
{{- $sources = append $sources (dict "name" "custom-resources" "allow" $allow "kubernetes" dict) }}
{{- end }}
{{- $config := dict "apiVersion" "fleetrelay.dev/v1alpha1" "kind" "RelayConfig" "sources" $sources "relay" $relay "http" $http }}
{{- range $field := (.Files.Get "files/relay-config-fields.yaml" | fromYaml).fields }}
{{- if and (not (hasKey $config $field)) (hasKey $.Values $field) }}
{{- $_ := set $config $field (get $.Values $field) }}
{{- end }}
{{- end }}
{{- toYaml $config }}
{{- end }}

{{/* Where the leader of several replicas is elected: "store", "kubernetes"; empty if there is but one server. */}}
{{- define "fleetrelay.lease" -}}
{{- if and (eq (dig "type" "sqlite" (default dict .Values.store)) "redis") (ne (dig "mode" "several" (default dict .Values.replicas)) "one") }}
{{- dig "lease" "store" (default dict .Values.replicas) }}
{{- end }}
{{- end }}

{{/* Ports of Redis that the values name. */}}
{{- define "fleetrelay.redisPorts" -}}
{{- $ports := .Values.networkPolicy.redisPorts }}
{{- with dig "redis" dict (default dict .Values.store) }}
{{- range .nodes }}
{{- $ports = append $ports (regexFind ":[0-9]+$" . | trimPrefix ":" | default "6379" | int) }}
{{- end }}
{{- if .sentinel }}{{ $ports = append $ports 6379 }}{{ end }}
{{- end }}
{{- $ports | uniq | toJson }}
{{- end }}

{{/* Several servers work as one only if they share what one would have for itself. */}}
{{- define "fleetrelay.checked" -}}
{{- if gt (int .Values.replicaCount) 1 }}
{{- if not (include "fleetrelay.lease" .) }}
{{- fail "replicaCount is larger than 1: that needs a store that the replicas share (store.type: redis), and replicas.mode must not be one" }}
{{- end }}
{{- if not .Values.relay.secrets }}
{{- fail "replicaCount is larger than 1: the replicas must share the relay secret: put it into a Secret, name that in secretMounts, and the file in relay.secrets" }}
{{- end }}
{{- if .Values.persistence.existingClaim }}
{{- fail "replicaCount is larger than 1: every replica has a volume of its own, so persistence.existingClaim must be empty" }}
{{- end }}
{{- end }}
{{- end }}
