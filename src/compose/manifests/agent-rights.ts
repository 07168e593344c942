import {
  WEBHOOK_CONFIGURATION,
  WEBHOOK_SECRET,
} from '../../domains/health/adapters/admission/webhook-configuration.ts';
import { engineGroups } from '../../model/engine-kinds.ts';
import type { JsonObject } from '../../model/json.ts';
import { AGENT_CREDENTIALS, AGENT_LEASE } from '../agent/names.ts';

/** A rule of a Role or ClusterRole, and why the agent needs it. */
export interface Permission {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
  /** A sentence for the table in `docs/reference/rights.md`. */
  readonly why: string;
}

/** More than an agent may do by itself; each is the choice of the person who installs it. */
export const AGENT_ACCESS = ['secrets', 'rbac', 'crds', 'care', 'tunnel', 'webhooks', 'cluster-admin'] as const;
export type AgentAccess = (typeof AGENT_ACCESS)[number];

/** The choice to let the agent write in all Namespaces; without it they are named. */
export const ALL_NAMESPACES = 'all-namespaces';

/** The Namespaces in which an agent may write: those with these names, or all of them. */
export type WritableNamespaces = readonly string[] | 'all';

/** ClusterRoles with this label (value `"true"`) widen what the agent may do. */
export const WIDEN_LABEL = 'rbac.fleetrelay.dev/aggregate-to-agent';

const READ = ['get', 'list', 'watch'];
/** Server-side apply is a patch; where nothing is there yet it needs `create` as well. */
const APPLY = ['get', 'list', 'watch', 'create', 'patch', 'delete'];

/** A rule as words: API groups (`core` is the core group), resources, and why the agent needs them. */
type RuleRow = readonly [groups: string, resources: string, why: string];

function rulesOf(verbs: readonly string[], rows: readonly RuleRow[]): readonly Permission[] {
  return rows.map(([groups, resources, why]) => {
    const apiGroups = groups.split(' ').map((group) => (group === 'core' ? '' : group));
    return { apiGroups, resources: resources.split(' '), verbs, why };
  });
}

const ISTIO = 'networking.istio.io security.istio.io telemetry.istio.io gateway.networking.k8s.io';

/** What is discovered: read only, everywhere in the cluster. */
export const DISCOVERY: readonly Permission[] = rulesOf(READ, [
  [
    'core',
    'namespaces nodes pods serviceaccounts services',
    'Input snapshot: what runs and where. Namespaces also for the stop button and for the cluster id (the UID of `kube-system`).',
  ],
  ['apps', 'daemonsets deployments replicasets statefulsets', 'Input snapshot: workloads.'],
  ['batch', 'jobs', 'Input snapshot: which CronJob a Pod belongs to.'],
  ['networking.k8s.io', 'networkpolicies', 'Input snapshot: network policies.'],
  ['autoscaling', 'horizontalpodautoscalers', 'The replicas of what an autoscaler targets are left to it.'],
  ['discovery.k8s.io', 'endpointslices', 'Input snapshot: which endpoints of a Service are ready.'],
  ['apiextensions.k8s.io', 'customresourcedefinitions', 'A kind that is installed later is noticed at once.'],
  [
    'apiregistration.k8s.io',
    'apiservices',
    'A kind of an aggregated API that appears or goes away is noticed at once.',
  ],
  [ISTIO, '*', 'Input snapshot: Istio and the Gateway API, where they are installed.'],
  [
    'cilium.io',
    'ciliumnetworkpolicies ciliumclusterwidenetworkpolicies',
    "Input snapshot: Cilium's network policies, where they are installed.",
  ],
  [engineGroups.join(' '), '*', 'Input snapshot: the kinds that fleetrelay itself reads, where they are installed.'],
]);

/** What may be applied and removed, without a further choice, in the Namespaces in which the agent may write, and read for its health. */
export const APPLIED: readonly Permission[] = [
  ...rulesOf(APPLY, [
    [
      'core',
      'configmaps limitranges persistentvolumeclaims resourcequotas serviceaccounts services',
      'Applied kinds of the core group. No Secrets: that is a choice of its own.',
    ],
    [
      'apps',
      'daemonsets deployments statefulsets',
      'Applied workloads. A user who may write a workload may read, through it, the Secrets of its namespace.',
    ],
    ['batch', 'cronjobs jobs', 'Applied workloads that end.'],
    ['autoscaling', 'horizontalpodautoscalers', 'Applied autoscalers.'],
    ['policy', 'poddisruptionbudgets', 'Applied disruption budgets.'],
    ['networking.k8s.io', 'ingresses networkpolicies', 'Applied ingress and network rules.'],
    ['discovery.k8s.io', 'endpointslices', 'Endpoints of services of other clusters.'],
    [ISTIO, '*', 'Applied configuration of Istio and the Gateway API.'],
    ['cilium.io', 'ciliumnetworkpolicies', 'Applied network policies of Cilium.'],
  ]),
  ...rulesOf(['create', 'patch'], [['events.k8s.io', 'events', 'Events that tell of drift of an applied object.']]),
  ...rulesOf(
    ['list'],
    [
      [
        'core',
        'events',
        'The health of an applied Pod that no node can take: whether an autoscaler adds nodes for it. Pods themselves need a rule of their own (see "More rights").',
      ],
    ],
  ),
];

/** To apply the Namespaces in which the agent may write: those with these names, or all. Every agent may read Namespaces. */
export function namespaceRights(writable: WritableNamespaces): readonly Permission[] {
  const why =
    'Namespaces that the desired state declares, of those in which the agent may write. One is removed only when nothing of the fleet is left in it. `create` counts for server-side apply, which names it.';
  // No names would mean all of them.
  if (writable.length === 0) return [];
  const names = writable === 'all' ? {} : { resourceNames: writable };
  return [{ apiGroups: [''], resources: ['namespaces'], ...names, verbs: ['create', 'patch', 'delete'], why }];
}

/** In the agent's own namespace. The `create` of a POST cannot be tied to a name, and the pieces of the inventory have made-up ones. */
export const OWN_NAMESPACE: readonly Permission[] = [
  ...leaseRights(AGENT_LEASE),
  {
    apiGroups: [''],
    resources: ['configmaps'],
    verbs: ['get', 'list', 'create', 'update', 'delete'],
    why: 'The inventory: `fleetrelay-inventory` and its pieces. The record `fleetrelay-remediations` of changed webhooks.',
  },
  {
    apiGroups: [''],
    resources: ['secrets'],
    resourceNames: [AGENT_CREDENTIALS],
    verbs: ['get', 'create', 'patch', 'update'],
    why: 'The client certificate, its key and the roots of the server: this one Secret, which the replicas share. `create` counts for what is made by server-side apply, which names it.',
  },
];

/** What an agent with the webhook may do besides: everywhere, and in its own namespace. */
export const WEBHOOK_RIGHTS: Readonly<Record<'everywhere' | 'ownNamespace', readonly Permission[]>> = {
  everywhere: [
    {
      apiGroups: ['admissionregistration.k8s.io'],
      resources: ['mutatingwebhookconfigurations'],
      resourceNames: [WEBHOOK_CONFIGURATION],
      verbs: ['get', 'patch'],
      why: 'To set `caBundle` and `failurePolicy` of its own webhook. It can neither make nor see another one.',
    },
  ],
  ownNamespace: [
    {
      apiGroups: [''],
      resources: ['secrets'],
      resourceNames: [WEBHOOK_SECRET],
      verbs: ['get', 'create', 'patch', 'update'],
      why: 'Certificates and settings of the webhook, which the replicas share. `create` counts for server-side apply, which names it.',
    },
  ],
};

/** The Namespace of a cluster's own parts. */
export const KUBE_SYSTEM = 'kube-system';

/** What a further access adds. */
export interface FurtherRights {
  /** By a ClusterRole: what has no Namespace, and what is only read. */
  readonly everywhere?: readonly Permission[];
  /** By a Role in each Namespace in which the agent may write; by a ClusterRole if these are all. */
  readonly whereWritable?: readonly Permission[];
  /** By a Role in `kube-system`, or in the Namespaces that the person who installs the agent names. */
  readonly inNamespaces?: readonly Permission[];
  /** By a Role in `kube-system`. */
  readonly inKubeSystem?: readonly Permission[];
}

/** What each further access adds; `cluster-admin` adds a binding to the ClusterRole of that name instead. */
export const FURTHER: Readonly<Record<Exclude<AgentAccess, 'cluster-admin'>, FurtherRights>> = {
  secrets: {
    whereWritable: rulesOf(APPLY, [
      [
        'core',
        'secrets',
        'Applied Secrets. RBAC cannot tell them from others: the agent may then read every Secret of these Namespaces, though it asks only for those with the label of its fleet.',
      ],
    ]),
  },
  rbac: {
    whereWritable: rulesOf(APPLY, [
      [
        'rbac.authorization.k8s.io',
        'rolebindings roles',
        'Applied roles and bindings. Without `escalate` and `bind`: the API server lets the agent grant only what it may do itself.',
      ],
    ]),
    everywhere: rulesOf(APPLY, [
      [
        'rbac.authorization.k8s.io',
        'clusterrolebindings clusterroles',
        'The same for the whole cluster. The policy refuses them to an agent that may write in all Namespaces.',
      ],
    ]),
  },
  crds: {
    everywhere: rulesOf(APPLY, [
      [
        'apiextensions.k8s.io',
        'customresourcedefinitions',
        'Applied CustomResourceDefinitions. Their objects need a rule of their own (see "More rights").',
      ],
    ]),
  },
  care: {
    everywhere: [
      ...rulesOf(READ, [
        [
          'admissionregistration.k8s.io',
          'mutatingwebhookconfigurations validatingwebhookconfigurations',
          "A Shoot's constraints: webhooks that could keep Nodes from joining.",
        ],
        [
          'druid.gardener.cloud resources.gardener.cloud machine.sapcloud.io extensions.gardener.cloud',
          '*',
          'The control planes of a Seed. The agent asks only for the Namespaces of Shoots that are bound to it.',
        ],
      ]),
      ...rulesOf(
        ['list', 'watch'],
        [
          [
            'coordination.k8s.io',
            'leases',
            'Whether Nodes, their agents and the extensions of a Seed are alive. Leases stay in the cluster: only which ones have expired is reported.',
          ],
        ],
      ),
    ],
    inNamespaces: rulesOf(READ, [
      [
        'core',
        'secrets',
        'Labels and annotations of Secrets: the operating system configs of a Shoot in `kube-system`, the certificate authorities in the control plane namespaces of a Seed (`--care-namespaces`). The agent asks only for metadata. RBAC cannot tell that apart: it could read all Secrets of these Namespaces.',
      ],
    ]),
  },
  tunnel: {
    inKubeSystem: rulesOf(
      ['create'],
      [['core', 'pods/portforward', 'To test the tunnel between the control plane and the Nodes of a Shoot.']],
    ),
  },
  webhooks: {
    everywhere: [
      ...rulesOf(
        ['get', 'list', 'watch', 'patch'],
        [
          [
            'admissionregistration.k8s.io',
            'mutatingwebhookconfigurations validatingwebhookconfigurations',
            'To mend webhooks that could keep Nodes from joining. FleetPolicy and RelayConfig have to allow it too.',
          ],
        ],
      ),
      ...rulesOf(
        ['create', 'patch'],
        [['events.k8s.io', 'events', 'Events that tell what was changed of a webhook configuration.']],
      ),
    ],
  },
};

/** A rule as the API server takes it. */
export function policyRule({ apiGroups, resources, resourceNames, verbs }: Permission): JsonObject {
  return { apiGroups, resources, ...(resourceNames === undefined ? {} : { resourceNames }), verbs };
}

/** To elect a leader by one Lease. The `create` of a POST cannot be tied to its name. */
export function leaseRights(name: string): readonly Permission[] {
  const lease = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };
  return [
    { ...lease, verbs: ['create'], why: 'The lease of the leader election, made on first start.' },
    {
      ...lease,
      resourceNames: [name],
      verbs: ['get', 'update'],
      why: 'To take, renew and give back that lease, and no other.',
    },
  ];
}
