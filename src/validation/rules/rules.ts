import { validatingAdmissionPolicyBindingRule, validatingAdmissionPolicyRule } from './admission/admission-policies.ts';
import { mutatingAdmissionPolicyBindingRule, mutatingAdmissionPolicyRule } from './admission/mutating-policies.ts';
import { webhookConfigurationRule } from './admission/webhooks.ts';
import { apiServiceRule } from './cluster/api-services.ts';
import { certificateSigningRequestRule } from './cluster/certificates.ts';
import { priorityClassRule, runtimeClassRule } from './cluster/classes.ts';
import { customResourceDefinitionRule } from './cluster/definitions.ts';
import { flowSchemaRule, priorityLevelConfigurationRule } from './cluster/flow-control.ts';
import { leaseRule } from './cluster/leases.ts';
import { namespaceRule, nodeRule } from './cluster/nodes.ts';
import { limitRangeRule, resourceQuotaRule } from './cluster/quotas.ts';
import { clusterRoleBindingRule, clusterRoleRule, roleBindingRule, roleRule } from './cluster/rbac.ts';
import { endpointSliceRule, endpointsRule } from './networking/endpoints.ts';
import { ingressClassRule, ingressRule } from './networking/ingresses.ts';
import { networkPolicyRule } from './networking/network-policies.ts';
import { serviceCidrRule } from './networking/service-cidrs.ts';
import { serviceRule } from './networking/services.ts';
import { ipRule } from './shared/addresses.ts';
import type { ObjectRule } from './shared/field.ts';
import { kindRule } from './shared/metadata.ts';
import { dnsSubdomainRule } from './shared/names.ts';
import { configMapRule, secretRule } from './storage/config-data.ts';
import {
  csiDriverKindRule,
  csiNodeRule,
  csiStorageCapacityRule,
  persistentVolumeClaimRule,
  persistentVolumeRule,
  storageClassRule,
  volumeAttachmentRule,
  volumeAttributesClassRule,
} from './storage/storage.ts';
import { horizontalPodAutoscalerRule } from './workloads/autoscalers.ts';
import { podDisruptionBudgetRule } from './workloads/disruption-budgets.ts';
import { cronJobRule, jobRule } from './workloads/jobs.ts';
import { deviceClassRule, resourceClaimRule, resourceClaimTemplateRule } from './workloads/resource-claims.ts';
import {
  daemonSetRule,
  deploymentRule,
  podRule,
  podTemplateRule,
  replicaSetRule,
  replicationControllerRule,
  statefulSetRule,
} from './workloads/workloads.ts';

/**
 * What the API server checks of built-in kinds beyond their schema, by `group/Kind` (`/Pod`, `apps/Deployment`), for all
 * versions of the kind.
 */
export const rules: Readonly<Record<string, ObjectRule>> = {
  '/ConfigMap': configMapRule,
  '/Endpoints': endpointsRule,
  '/LimitRange': limitRangeRule,
  '/Namespace': namespaceRule,
  '/Node': nodeRule,
  '/PersistentVolume': persistentVolumeRule,
  '/PersistentVolumeClaim': persistentVolumeClaimRule,
  '/Pod': podRule,
  '/PodTemplate': podTemplateRule,
  '/ReplicationController': replicationControllerRule,
  '/ResourceQuota': resourceQuotaRule,
  '/Secret': secretRule,
  '/Service': serviceRule,
  '/ServiceAccount': kindRule(dnsSubdomainRule),
  'admissionregistration.k8s.io/MutatingAdmissionPolicy': mutatingAdmissionPolicyRule,
  'admissionregistration.k8s.io/MutatingAdmissionPolicyBinding': mutatingAdmissionPolicyBindingRule,
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': webhookConfigurationRule,
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy': validatingAdmissionPolicyRule,
  'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding': validatingAdmissionPolicyBindingRule,
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': webhookConfigurationRule,
  'apiextensions.k8s.io/CustomResourceDefinition': customResourceDefinitionRule,
  'apiregistration.k8s.io/APIService': apiServiceRule,
  'apps/ControllerRevision': kindRule(dnsSubdomainRule),
  'apps/DaemonSet': daemonSetRule,
  'apps/Deployment': deploymentRule,
  'apps/ReplicaSet': replicaSetRule,
  'apps/StatefulSet': statefulSetRule,
  'autoscaling/HorizontalPodAutoscaler': horizontalPodAutoscalerRule,
  'batch/CronJob': cronJobRule,
  'batch/Job': jobRule,
  'certificates.k8s.io/CertificateSigningRequest': certificateSigningRequestRule,
  'coordination.k8s.io/Lease': leaseRule,
  'discovery.k8s.io/EndpointSlice': endpointSliceRule,
  'flowcontrol.apiserver.k8s.io/FlowSchema': flowSchemaRule,
  'flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration': priorityLevelConfigurationRule,
  'networking.k8s.io/IPAddress': kindRule(ipRule),
  'networking.k8s.io/Ingress': ingressRule,
  'networking.k8s.io/IngressClass': ingressClassRule,
  'networking.k8s.io/NetworkPolicy': networkPolicyRule,
  'networking.k8s.io/ServiceCIDR': serviceCidrRule,
  'node.k8s.io/RuntimeClass': runtimeClassRule,
  'policy/PodDisruptionBudget': podDisruptionBudgetRule,
  'rbac.authorization.k8s.io/ClusterRole': clusterRoleRule,
  'rbac.authorization.k8s.io/ClusterRoleBinding': clusterRoleBindingRule,
  'rbac.authorization.k8s.io/Role': roleRule,
  'rbac.authorization.k8s.io/RoleBinding': roleBindingRule,
  'resource.k8s.io/DeviceClass': deviceClassRule,
  'resource.k8s.io/ResourceClaim': resourceClaimRule,
  'resource.k8s.io/ResourceClaimTemplate': resourceClaimTemplateRule,
  'resource.k8s.io/ResourceSlice': kindRule(dnsSubdomainRule),
  'scheduling.k8s.io/PriorityClass': priorityClassRule,
  'storage.k8s.io/CSIDriver': csiDriverKindRule,
  'storage.k8s.io/CSINode': csiNodeRule,
  'storage.k8s.io/CSIStorageCapacity': csiStorageCapacityRule,
  'storage.k8s.io/StorageClass': storageClassRule,
  'storage.k8s.io/VolumeAttachment': volumeAttachmentRule,
  'storage.k8s.io/VolumeAttributesClass': volumeAttributesClassRule,
};
