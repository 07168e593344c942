import type { AgentAddition } from '../../../compose/manifests/agent-addition.ts';
import { rulesOf } from '../../../compose/manifests/permission.ts';
import { REMEDIATION_RECORD } from '../model/remediations.ts';
import { webhooksStay } from './webhook-policy.ts';

const WEBHOOKS = 'admissionregistration.k8s.io';

/** What an agent may do for the care of Shoots, if the person who installs it chooses so. */
export const careInstalled: AgentAddition = {
  choices: {
    care: {
      everywhere: rulesOf(`
  read | admissionregistration.k8s.io | mutatingwebhookconfigurations validatingwebhookconfigurations | A Shoot's constraints: webhooks that could keep Nodes from joining.
  read | druid.gardener.cloud resources.gardener.cloud machine.sapcloud.io extensions.gardener.cloud | * | The control planes of a Seed. The agent asks only for the Namespaces of Shoots that are bound to it.
  list watch | coordination.k8s.io | leases | Whether Nodes, their agents and the extensions of a Seed are alive. Leases stay in the cluster: only which ones have expired is reported.
`),
      inNamespaces: rulesOf(
        `read | core | secrets | Labels and annotations of Secrets: the operating system configs of a Shoot in \`kube-system\`, the certificate authorities in the control plane namespaces of a Seed (\`--care-namespaces\`). The agent asks only for metadata. RBAC cannot tell that apart: it could read all Secrets of these Namespaces.`,
      ),
    },
    tunnel: {
      inKubeSystem: rulesOf(
        `create | core | pods/portforward | To test the tunnel between the control plane and the Nodes of a Shoot.`,
      ),
    },
    webhooks: {
      everywhere: rulesOf(`
  get list watch patch | admissionregistration.k8s.io | mutatingwebhookconfigurations validatingwebhookconfigurations | To mend webhooks that could keep Nodes from joining. FleetPolicy and RelayConfig have to allow it too.
  create patch | events.k8s.io | events | Events that tell what was changed of a webhook configuration.
`),
    },
  },
  register: {
    allow: 'read what the care of a Shoot needs, test its tunnel, mend webhooks of others',
    namespaces: [
      {
        choice: 'care',
        option: 'care-namespaces',
        where: 'where the agent may read the metadata of Secrets',
        which: '(default: kube-system). In a Seed the control plane namespaces of its Shoots',
      },
    ],
    examples: [
      [
        'fleetrelay cluster register seed --install --agent-context seed --server relay.example.com:9900 --data-dir /var/lib/fleetrelay --namespaces monitoring --allow care --care-namespaces shoot--web--blue',
        'the agent of a Seed, with what the care of the Shoot garden-web/blue needs',
      ],
    ],
  },
  records: { [REMEDIATION_RECORD]: 'The record `fleetrelay-remediations` of changed webhooks.' },
  policy: {
    // The right to it is a choice of the person who installs the agent.
    permitted: { isTunnel: "variables.kind == 'pods/portforward' && variables.place == 'kube-system'" },
    variables: {
      mayCreate: `authorizer.group('${WEBHOOKS}').resource(request.resource.resource).check('create').allowed()`,
    },
    validations: (ownWebhook) => [
      {
        expression: [
          `request.resource.group != '${WEBHOOKS}' || !(request.resource.resource in ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'])`,
          'variables.mayCreate',
          webhooksStay(ownWebhook),
        ].join(' || '),
        messageExpression:
          "'the agent may change webhooks only as its remediator does: not whom a webhook calls, nor for which requests, in ' + variables.kind + ' ' + variables.name",
        reason: 'Forbidden',
      },
    ],
  },
};
