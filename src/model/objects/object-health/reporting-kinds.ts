/**
 * Kinds without rules of their own, by group, that always get a status from their controllers: an object without a status is not
 * taken up yet. Objects of other kinds can lack a status for good, so without one they are current.
 */
const KINDS: Readonly<Record<string, string>> = {
  'acid.zalan.do': 'postgresql',
  'addons.cluster.x-k8s.io': 'ClusterResourceSet',
  'apps.kruise.io': 'CloneSet DaemonSet StatefulSet',
  'bitnami.com': 'SealedSecret',
  'cdi.kubevirt.io': 'DataVolume',
  'ceph.rook.io': 'CephCluster CephBlockPool CephFilesystem CephObjectStore',
  'clickhouse.altinity.com': 'ClickHouseInstallation',
  'cluster.x-k8s.io': 'Cluster Machine MachineDeployment MachineSet MachinePool',
  'coralogix.com': 'Alert RecordingRuleGroupSet',
  'core.humio.com': 'HumioAction HumioAlert HumioIngestToken HumioParser HumioRepository HumioView',
  'core.spinkube.dev': 'SpinApp',
  'external-secrets.io': 'ClusterExternalSecret ClusterSecretStore ExternalSecret PushSecret SecretStore',
  'grafana.integreatly.org': 'Grafana GrafanaDashboard GrafanaFolder',
  'iammanager.keikoproj.io': 'Iamrole',
  'jaegertracing.io': 'Jaeger',
  'k8s.keycloak.org': 'Keycloak',
  'kafka.strimzi.io':
    'Kafka KafkaBridge KafkaConnect KafkaConnector KafkaMirrorMaker2 KafkaNodePool KafkaTopic KafkaUser',
  'karpenter.sh': 'NodeClaim',
  'kubernetes-client.io': 'ExternalSecret',
  'kubevirt.io': 'VirtualMachine VirtualMachineInstance',
  'kyverno.io': 'ClusterPolicy Policy',
  'logstash.k8s.elastic.co': 'Logstash',
  'nmstate.io': 'NodeNetworkConfigurationPolicy',
  'numaplane.numaproj.io': 'ISBServiceRollout MonoVertexRollout NumaflowControllerRollout PipelineRollout',
  'onepassword.com': 'OnePasswordItem',
  'policy.open-cluster-management.io': 'CertificatePolicy ConfigurationPolicy OperatorPolicy Policy',
  'postgresql.cnpg.io': 'Cluster',
  'projectcontour.io': 'ExtensionService HTTPProxy',
  'promoter.argoproj.io':
    'ArgoCDCommitStatus ChangeTransferPolicy ClusterScmProvider CommitStatus GitCommitStatus GitRepository PromotionStrategy PullRequest ScmProvider TimedCommitStatus WebRequestCommitStatus',
  'rabbitmq.com': 'Binding Exchange Permission Policy Queue RabbitmqCluster Shovel User Vhost',
  'services.cloud.sap.com': 'ServiceBinding ServiceInstance',
  'solr.apache.org': 'SolrCloud',
  'tower.ansible.com': 'AnsibleJob',
};

const NAMES: ReadonlySet<string> = new Set(
  Object.entries(KINDS).flatMap(([group, kinds]) => kinds.split(' ').map((kind) => `${group}/${kind}`)),
);

/** Whether the controller of a kind (`group/Kind`) always writes a status. */
export function alwaysReports(kind: string): boolean {
  return NAMES.has(kind);
}
