import type { Release } from './rendering.ts';

const GIT = { name: 'fleet', git: { url: 'https://git.example.com/fleet.git' } };
export const CA = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

const REDIS_VALUES = {
  sources: [GIT],
  replicaCount: 2,
  store: {
    type: 'redis',
    redis: {
      nodes: ['redis.example.com:6390'],
      username: 'fleetrelay',
      passwordFile: '/etc/fleetrelay/secrets/redis/password',
      tls: { caFile: '/etc/fleetrelay/secrets/redis/ca.crt' },
    },
  },
  relay: {
    secrets: [{ secretFile: '/etc/fleetrelay/secrets/relay/secret' }],
    tls: {
      certificate: {
        certFile: '/etc/fleetrelay/secrets/relay-tls/tls.crt',
        keyFile: '/etc/fleetrelay/secrets/relay-tls/tls.key',
        caFile: '/etc/fleetrelay/secrets/relay-tls/ca.crt',
      },
    },
  },
  secretMounts: [
    { name: 'redis', secretName: 'fleet-redis' },
    { name: 'relay', secretName: 'fleet-relay' },
    { name: 'relay-tls', secretName: 'fleet-relay-tls' },
  ],
};

/** Several servers: the leader elected in Redis, and by a Lease of the cluster. */
export const REPLICATED: Readonly<Record<'store' | 'kubernetes', Release>> = {
  store: { name: 'fleetrelay', namespace: 'fleetrelay-server', values: REDIS_VALUES },
  kubernetes: {
    name: 'fleetrelay',
    namespace: 'fleetrelay-server',
    values: { ...REDIS_VALUES, replicas: { lease: 'kubernetes' } },
  },
};

/** Sets of values that the charts are tried with: as little as possible, and as much as possible. */
export const SERVER_RELEASES: Readonly<Record<string, Release>> = {
  least: { name: 'fleetrelay', namespace: 'fleetrelay-server', values: { sources: [GIT] } },
  most: {
    name: 'other',
    namespace: 'fleetrelay-server',
    values: {
      fleet: { name: 'production' },
      sources: [
        {
          name: 'fleet',
          git: {
            url: 'https://git.example.com/fleet.git',
            branch: 'main',
            credentials: { tokenFile: '/etc/fleetrelay/secrets/git/token' },
          },
        },
      ],
      secretMounts: [
        { name: 'git', secretName: 'repository' },
        { name: 'relay', secretName: 'relay-tls' },
      ],
      relay: {
        listen: { address: '0.0.0.0', port: 9901 },
        secrets: [{ secretFile: '/etc/fleetrelay/secrets/relay/secret' }],
        tls: {
          mode: 'tls',
          certificate: {
            certFile: '/etc/fleetrelay/secrets/relay/tls.crt',
            keyFile: '/etc/fleetrelay/secrets/relay/tls.key',
            caFile: '/etc/fleetrelay/secrets/relay/ca.crt',
          },
        },
      },
      http: { people: [{ name: 'ann', role: 'operate', tokenFile: '/etc/fleetrelay/secrets/relay/api-token' }] },
      safeMode: { mode: 'off', safeStartWindowSeconds: 180 },
      policy: { guards: { maxRemovalsPerCluster: 5 } },
      bounds: { safeMode: { modes: ['strict', 'off'] } },
      status: { git: { enabled: true, branch: 'fleetrelay/status/production' } },
      customResources: { enabled: true },
      xds: { listen: { address: '0.0.0.0', port: 5679 }, endpointsFromClusters: ['east'] },
      services: { relay: { type: 'LoadBalancer', port: 9900, annotations: { a: 'b' } } },
      persistence: { storageClassName: 'fast', size: '20Gi' },
      priorityClassName: 'system-cluster-critical',
      podAnnotations: { 'prometheus.io/scrape': 'true' },
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: [{ key: 'a', operator: 'Exists' }],
      extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
      image: { registry: 'registry.example.com/team', digest: `sha256:${'0'.repeat(64)}` },
      imagePullSecrets: [{ name: 'registry' }],
    },
  },
  'without a volume': {
    name: 'fleetrelay',
    namespace: 'fleetrelay-server',
    values: {
      sources: [GIT],
      persistence: { enabled: false },
      networkPolicy: { enabled: false },
      podDisruptionBudget: { enabled: false },
      apiToken: { existingSecret: 'api', key: 'password' },
    },
  },
  'two replicas, the leader elected in Redis': REPLICATED.store,
  'two replicas, the leader elected by a Lease': REPLICATED.kubernetes,
};

const AGENT = {
  cluster: 'east',
  relay: { serverAddress: 'relay.example.com:9900' },
  rbac: { allNamespaces: true },
};

const LEAST_AGENT = {
  ...AGENT,
  rbac: { namespaces: ['web'] },
  relay: {
    ...AGENT.relay,
    tokenSecret: { name: 'fleetrelay-agent-token' },
    rootTlsConfigMap: { name: 'fleetrelay-relay-ca' },
  },
};

export const AGENT_RELEASES: Readonly<Record<string, Release>> = {
  least: { name: 'fleetrelay-agent', namespace: 'fleetrelay', values: LEAST_AGENT },
  most: {
    name: 'other',
    namespace: 'fleetrelay',
    values: {
      ...AGENT,
      relay: { serverAddress: '[2001:db8::1]:443', token: 'frt1_x', rootCA: CA },
      replicaCount: 3,
      rbac: {
        allNamespaces: true,
        secrets: true,
        rbac: true,
        crds: true,
        clusterAdmin: true,
        extraRules: [{ apiGroups: ['example.com'], resources: ['widgets'], verbs: ['get', 'list', 'watch', 'patch'] }],
      },
      priorityClassName: 'system-cluster-critical',
      logLevel: 'debug',
      podLabels: { team: 'fleet' },
      extraArgs: ['--log-level=warn'],
      webhook: { enabled: true, tlsSecret: { name: 'webhook-tls' } },
    },
  },
  'with the webhook': {
    name: 'fleetrelay-agent',
    namespace: 'fleetrelay',
    values: { ...LEAST_AGENT, webhook: { enabled: true } },
  },
  'the care of Shoots': {
    name: 'fleetrelay-agent',
    namespace: 'fleetrelay',
    values: {
      ...LEAST_AGENT,
      rbac: {
        ...LEAST_AGENT.rbac,
        ...{ care: true, careNamespaces: ['kube-system', 'shoot--web--blue'], tunnel: true, webhooks: true },
      },
    },
  },
  'Secrets and roles in two Namespaces': {
    name: 'fleetrelay-agent',
    namespace: 'fleetrelay',
    values: { ...LEAST_AGENT, rbac: { namespaces: ['web', 'shop'], secrets: true, rbac: true } },
  },
  'a certificate from elsewhere': {
    name: 'fleetrelay-agent',
    namespace: 'fleetrelay',
    values: { ...AGENT, relay: { ...AGENT.relay, clientTlsSecret: { name: 'east-tls' } } },
  },
  'one replica, a public authority': {
    name: 'fleetrelay-agent',
    namespace: 'fleetrelay',
    values: {
      ...AGENT,
      relay: { ...AGENT.relay, tokenSecret: { name: 't', key: 'password' } },
      replicaCount: 1,
      leaderElection: { enabled: false },
      networkPolicy: { enabled: false },
      podDisruptionBudget: { enabled: false },
    },
  },
};
