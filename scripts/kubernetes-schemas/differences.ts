/**
 * Where an API server takes what its OpenAPI forbids, as `GROUP/TYPE.FIELD` for all versions of the type. Found by changing
 * manifests and asking an API server: test/contract/kubernetes-api/schemas.test.ts fails where an entry is missing.
 */

/** Fields that the OpenAPI calls required and an API server does not demand, with the reason. */
export const NOT_DEMANDED: Readonly<Record<string, string>> = {
  'apiextensions/CustomResourceDefinitionVersion.served': 'absent is false',
  'apps/ControllerRevision.revision': 'absent is 0, which is a revision',
  'batch/PodFailurePolicy.rules': 'a policy may have no rules',
  'core/ClusterTrustBundleProjection.path':
    'the projection is dropped unless the feature ClusterTrustBundleProjection is on',
  'core/ConfigMapNodeConfigSource.kubeletConfigKey': 'the API server drops the source',
  'core/ConfigMapNodeConfigSource.name': 'the API server drops the source',
  'core/ConfigMapNodeConfigSource.namespace': 'the API server drops the source',
  'core/Event.involvedObject': 'an empty reference is taken',
  'core/HTTPHeader.value': 'a header may be empty',
  'core/ISCSIPersistentVolumeSource.lun': 'absent is 0',
  'core/ISCSIVolumeSource.lun': 'absent is 0',
  'core/LimitRangeSpec.limits': 'a LimitRange may limit nothing',
  'core/PodCertificateProjection.keyType': 'the projection is dropped unless the feature PodCertificateRequest is on',
  'core/PodCertificateProjection.signerName':
    'the projection is dropped unless the feature PodCertificateRequest is on',
  'core/PreferredSchedulingTerm.preference': 'an empty term is taken',
  'core/ScaleIOPersistentVolumeSource.secretRef': 'not checked',
  'core/ScaleIOVolumeSource.secretRef': 'not checked',
  'core/SleepAction.seconds': 'absent is 0',
  'core/Sysctl.value': 'not checked',
  'discovery/ForZone.name': 'not checked',
  'resource/Counter.value': 'absent is 0',
  'resource/DeviceCapacity.value': 'absent is 0',
  'resource/DeviceClass.spec': 'all of its fields are optional',
  'resource/ResourceClaim.spec': 'all of its fields are optional',
  'resource/ResourceClaimTemplate.spec': 'all that it demands is optional',
  'resource/ResourceClaimTemplateSpec.spec': 'all of its fields are optional',
  'resource/ResourcePool.generation': 'absent is 0',
  'storage/CSIDriver.spec': 'all of its fields are optional',
  'storage/CSINode.spec': 'a node may have no drivers',
  'storage/CSINodeSpec.drivers': 'a node may have no drivers',
  'storage/TokenRequest.audience': 'absent is the audience of the API server',
};

/** Fields that an API server demands although the OpenAPI does not call them required. */
export const DEMANDED: ReadonlySet<string> = new Set([
  'admissionregistration/ApplyConfiguration.expression',
  'admissionregistration/JSONPatch.expression',
  'admissionregistration/MutatingAdmissionPolicy.spec',
  'admissionregistration/MutatingAdmissionPolicyBinding.spec',
  'admissionregistration/MutatingAdmissionPolicyBindingSpec.policyName',
  'admissionregistration/MutatingAdmissionPolicySpec.matchConstraints',
  'admissionregistration/MutatingAdmissionPolicySpec.mutations',
  'admissionregistration/MutatingAdmissionPolicySpec.reinvocationPolicy',
  'admissionregistration/NamedRuleWithOperations.apiGroups',
  'admissionregistration/NamedRuleWithOperations.apiVersions',
  'admissionregistration/NamedRuleWithOperations.operations',
  'admissionregistration/NamedRuleWithOperations.resources',
  'apps/ControllerRevision.data',
  'events/Event.action',
  'events/Event.reason',
  'events/Event.reportingController',
  'events/Event.reportingInstance',
  'flowcontrol/FlowSchema.spec',
  'flowcontrol/LimitedPriorityLevelConfiguration.limitResponse',
  'flowcontrol/PriorityLevelConfiguration.spec',
  'networking/ServiceCIDR.spec',
  'networking/ServiceCIDRSpec.cidrs',
  'resource/DeviceClaimConfiguration.opaque',
  'resource/DeviceClassConfiguration.opaque',
  'resource/DeviceSelector.cel',
]);

/** Lists whose items an API server lets repeat when it creates an object; server-side apply refuses that everywhere. */
export const MAY_REPEAT: ReadonlySet<string> = new Set([
  'admissionregistration/ValidatingAdmissionPolicySpec.variables',
  'apiextensions/JSONSchemaProps.x-kubernetes-validations',
  'core/Container.env',
  'core/Container.ports',
  'core/ContainerRestartRuleOnExitCodes.values',
  'core/EphemeralContainer.env',
  'core/EphemeralContainer.ports',
  'core/PodSpec.hostAliases',
  'core/PodSpec.imagePullSecrets',
  'core/ResourceRequirements.claims',
  'core/ServiceAccount.secrets',
  'discovery/Endpoint.addresses',
  'flowcontrol/NonResourcePolicyRule.nonResourceURLs',
  'flowcontrol/NonResourcePolicyRule.verbs',
  'meta/ObjectMeta.finalizers',
  'meta/ObjectMeta.ownerReferences',
  'storage/CSIDriverSpec.volumeLifecycleModes',
]);

/** Fields whose enum an API server does not enforce, with the reason. */
export const NOT_ENFORCED: Readonly<Record<string, string>> = {
  'core/Lifecycle.stopSignal': 'the field is dropped unless the feature ContainerStopSignals is on',
};

/** `GROUP/TYPE` of a definition: `core/Pod` of `io.k8s.api.core.v1.Pod`. */
export function typeOf(definition: string): string {
  const [group = '', , type = ''] = definition.split('.').slice(-3);
  return `${group}/${type}`;
}

/** The entries of all tables that are not among the fields of any version. */
export function staleDifferences(fields: ReadonlySet<string>): readonly string[] {
  const entries = [...Object.keys(NOT_DEMANDED), ...DEMANDED, ...MAY_REPEAT, ...Object.keys(NOT_ENFORCED)];
  return entries.filter((entry) => !fields.has(entry));
}
