import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agentManifests } from '../../src/compose/manifests/agent-manifests.ts';
import { AGENT_ACCESS } from '../../src/compose/manifests/agent-rights.ts';
import { roleObjects } from '../../src/compose/manifests/agent-roles.ts';
import { AGENT_RELEASES, CA, REPLICATED, SERVER_RELEASES } from '../contract/deploy/releases.ts';
import {
  type Manifest,
  objectsOf,
  PROJECT,
  releaseArguments,
  renderChart,
  renderKustomization,
  renderOverlay,
  runHelm,
} from '../contract/deploy/rendering.ts';
import { until } from '../support/fleet-processes.ts';
import { type ApiRequests, createApiRequests } from '../support/kubernetes/api-request.ts';
import { type ControlPlane, startControlPlane } from '../support/kubernetes/control-plane.ts';
import { noProgram } from '../support/programs.ts';

const KUSTOMIZE = join(PROJECT, 'deploy', 'kustomize');
const AGENT = 'system:serviceaccount:fleetrelay:fleetrelay-agent';
const SERVER = 'system:serviceaccount:fleetrelay-server:fleetrelay-server';

describe.skipIf(noProgram('kube-apiserver', 'kube-controller-manager'))(
  'what deploy/ holds, on a real API server',
  () => {
    let plane: ControlPlane;
    let api: ApiRequests;

    beforeAll(async () => {
      plane = await startControlPlane({ controllers: true });
      api = createApiRequests(plane);
      for (const base of ['agent', 'management-server']) {
        const objects = await renderKustomization(join(KUSTOMIZE, base));
        await apply(objects.filter(({ kind }) => kind === 'Namespace'));
      }
      await apply(crds());
      for (const name of [CONTROL_PLANE, 'web', 'shop']) await plane.kubectl(['create', 'namespace', name]);
    });

    afterAll(async () => {
      api?.close();
      await plane?.stop();
    });

    const apply = (objects: readonly Manifest[], ...args: string[]): Promise<string> =>
      plane.kubectl(['apply', '--server-side', ...args, '-f', '-'], {
        input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
      });

    /** Each object as it is, and each pod template as a pod of its own, since the namespaces enforce "restricted" on pods. */
    const accepted = async (objects: readonly Manifest[]): Promise<void> => {
      expect(objects.length).toBeGreaterThan(0);
      const pods = objects
        .filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
        .map(({ metadata, spec }) => ({
          ...{
            apiVersion: 'v1',
            kind: 'Pod',
            metadata: { name: `${metadata.name}-pod`, namespace: metadata.namespace },
          },
          spec: podSpecOf(spec),
        }));
      await apply([...objects, ...(pods as Manifest[])], '--dry-run=server');
    };

    test('the kustomize bases, with every component', async () => {
      await accepted(await renderKustomization(join(KUSTOMIZE, 'agent')));
      await accepted(await renderKustomization(join(KUSTOMIZE, 'management-server')));
      const components = readdirSync(join(KUSTOMIZE, 'components'));
      for (const base of ['agent', 'management-server']) {
        const fitting = components.filter((name) => name.startsWith(base === 'agent' ? 'agent-' : 'server-'));
        expect(fitting.length).toBeGreaterThan(1);
        await accepted(await renderOverlay({ 'kustomization.yaml': overlay(base, fitting) }));
      }
    });

    test('a public authority takes nothing but the CA from the agent', async () => {
      const [plain, without] = await Promise.all([
        renderOverlay({ 'kustomization.yaml': overlay('agent', []) }),
        renderOverlay({ 'kustomization.yaml': overlay('agent', ['agent-public-ca']) }),
      ]);
      const podOf = (objects: readonly Manifest[]) =>
        objects.find(({ kind }) => kind === 'Deployment')?.spec.template.spec;
      const [before, after] = [podOf(plain), podOf(without)];
      const names = (items: readonly { readonly name: string }[]): readonly string[] => items.map(({ name }) => name);
      expect(names(before.volumes).filter((name) => !names(after.volumes).includes(name))).toEqual(['ca']);
      const [args, fewer] = [before.containers[0].args, after.containers[0].args];
      expect(args.filter((arg: string) => !fewer.includes(arg))).toEqual(['--ca-file=/etc/fleetrelay/ca/ca.crt']);
    });

    test('the overlays of the documents', async () => {
      const documents = globSync('docs/{start,operate}/*.md', { cwd: PROJECT });
      const blocks = documents
        .map((path) => readFileSync(join(PROJECT, path), 'utf8'))
        .join('\n')
        .matchAll(/apiVersion: kustomize\.config\.k8s\.io\/v1beta1\n.*?(?=\nEOF|\n```)/gs);
      const overlays = [...blocks].map(([text]) => text.replaceAll('../deploy/', '../../../../deploy/'));
      expect(overlays).toHaveLength(5);
      const config = readFileSync(join(KUSTOMIZE, 'management-server', 'relay-config.yaml'), 'utf8');
      for (const text of overlays) {
        const files = { 'kustomization.yaml': text, 'relay-config.yaml': config, 'ca.crt': CA, token: 'frt1_x' };
        await accepted(await renderOverlay(files));
      }
    });

    test('what `cluster register` applies, with every access', async () => {
      const manifests = agentManifests({
        cluster: 'east',
        server: 'relay.example.com:9900',
        namespace: 'fleetrelay',
        image: 'fleetrelay:0.1.0',
        token: 'frt1_x',
        ca: CA,
        writable: 'all',
        access: AGENT_ACCESS,
        webhook: true,
      });
      await accepted(manifests as unknown as readonly Manifest[]);
    });

    test.skipIf(noProgram('helm'))('the charts, with every set of values', async () => {
      for (const release of Object.values(SERVER_RELEASES)) {
        const objects = await renderChart('fleetrelay', release);
        // The kinds of the Gateway API are not here: chart-releases.test.ts.
        await accepted(objects.filter(({ kind }) => kind !== 'HTTPRoute'));
      }
      for (const release of Object.values(AGENT_RELEASES))
        await accepted(await renderChart('fleetrelay-agent', release));
    });

    test('the namespaces do enforce: a pod that asks for more is refused', async () => {
      const [deployment] = (await renderKustomization(join(KUSTOMIZE, 'agent'))).filter(
        ({ kind }) => kind === 'Deployment',
      );
      const { securityContext: _, ...spec } = deployment?.spec.template.spec ?? {};
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'more', namespace: 'fleetrelay' }, spec };
      await expect(apply([pod], '--dry-run=server')).rejects.toThrow(/violates PodSecurity "restricted/);
    });

    const may = async (user: string, question: string): Promise<boolean> => {
      const [verb = '', what = '', namespace = ''] = question.split(' ');
      const [kind = '', name] = what.split('/');
      const [resource = '', ...group] = kind.split('.');
      const [plain, subresource] = resource.split(':');
      const attributes = { verb, resource: plain, subresource, group: group.join('.'), namespace, name };
      const { status, body } = await api.send('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
        spec: {
          user,
          groups: ['system:serviceaccounts', 'system:authenticated'],
          resourceAttributes: attributes,
        },
      });
      expect(status).toBe(201);
      return body.status.allowed;
    };

    const expectRights = async (user: string, yes: readonly string[], no: readonly string[]): Promise<void> => {
      // Each role and binding takes effect by itself, some time after it was written.
      for (const question of yes) await until(`may ${question}`, () => may(user, question));
      for (const question of no) await until(`may not ${question}`, async () => !(await may(user, question)));
    };

    test('an agent may do what it needs, and no more', async () => {
      const overlays = overlay('agent', ['agent-all-namespaces']);
      const rights = (await renderOverlay({ 'kustomization.yaml': overlays })).filter(({ kind }) =>
        /Role|ServiceAccount/.test(kind),
      );
      await apply(rights);
      await expectRights(AGENT, AGENT_MAY, [...AGENT_MAY_NOT, ...AGENT_BY_CHOICE]);
    });

    test('a label on a ClusterRole widens what an agent may do', async () => {
      const metadata = { name: 'widgets', labels: { 'rbac.fleetrelay.dev/aggregate-to-agent': 'true' } };
      const rules = [{ apiGroups: ['example.com'], resources: ['widgets'], verbs: ['get', 'list', 'watch', 'patch'] }];
      expect(await may(AGENT, 'patch widgets.example.com web')).toBe(false);
      await apply([{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata, rules }]);
      await until('the right is there', () => may(AGENT, 'patch widgets.example.com web'));
      expect(await may(AGENT, 'delete widgets.example.com web')).toBe(false);
    });

    test.skipIf(noProgram('helm'))(
      'the webhook gives the right to its own configuration and Secret, and to no other',
      async () => {
        const configuration = 'mutatingwebhookconfigurations.admissionregistration.k8s.io';
        const yes = [
          ...['get', 'patch'].map((verb) => `${verb} ${configuration}/fleetrelay-agent`),
          ...['get', 'create', 'patch', 'update'].map((verb) => `${verb} secrets/fleetrelay-agent-webhook fleetrelay`),
        ];
        const no = [
          ...['list', 'watch', 'create', 'update', 'delete'].map((verb) => `${verb} ${configuration}`),
          ...['get', 'patch'].map((verb) => `${verb} ${configuration}/other`),
          ...['list', 'watch', 'create'].map((verb) => `${verb} secrets fleetrelay`),
          'delete secrets/fleetrelay-agent-webhook fleetrelay',
          'get secrets/fleetrelay-agent-webhook web',
        ];
        await expectRights(AGENT, [], [...yes, ...no]);
        const path = join(KUSTOMIZE, 'components', 'agent-webhook', 'rights.yaml');
        const byKustomize = objectsOf(readFileSync(path, 'utf8'));
        const release = AGENT_RELEASES.webhook;
        if (release === undefined) throw new Error('there is no such release');
        const byChart = (await renderChart('fleetrelay-agent', release)).filter(
          ({ kind, metadata }) => /Role/.test(kind) && metadata.name === 'fleetrelay-agent-webhook',
        );
        for (const rights of [byKustomize, byChart]) {
          await apply(rights);
          await until('the rights are there', () => may(AGENT, yes[0] ?? ''));
          await expectRights(AGENT, yes, no);
          await plane.kubectl(['delete', '-f', '-'], {
            input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: rights }),
          });
          await until('the rights are gone', async () => !(await may(AGENT, yes[0] ?? '')));
        }
      },
    );

    test.skipIf(noProgram('helm'))(
      'the care of Shoots reads Secrets in the named Namespaces, and changes webhooks only by choice',
      async () => {
        const webhooks = 'validatingwebhookconfigurations.admissionregistration.k8s.io';
        const yes = [
          ...[`list ${webhooks}`, 'watch leases.coordination.k8s.io kube-node-lease'],
          ...['list secrets kube-system', `watch secrets ${CONTROL_PLANE}`, 'create pods:portforward kube-system'],
          ...[
            'list machines.machine.sapcloud.io web',
            'watch workers.extensions.gardener.cloud web',
            `patch ${webhooks}`,
          ],
        ];
        const no = [
          'list secrets default',
          'patch secrets kube-system',
          'get pods:portforward web',
          `delete ${webhooks}`,
        ];
        const byRegister = AGENT_ACCESS.filter((access) => /care|tunnel|webhooks/.test(access)).flatMap((access) =>
          roleObjects(access, {
            namespace: 'fleetrelay',
            writable: 'all',
            accessNamespaces: { [access]: ['kube-system', CONTROL_PLANE] },
          }),
        ) as unknown as readonly Manifest[];
        const release = AGENT_RELEASES.care;
        if (release === undefined) throw new Error('there is no such release');
        const byChart = (await renderChart('fleetrelay-agent', release)).filter(
          ({ kind, metadata }) => /Role/.test(kind) && /-(care|tunnel|webhooks)$/.test(metadata.name),
        );
        for (const rights of [byRegister, byChart]) {
          await expectRights(AGENT, [], yes);
          await apply(rights);
          await until('the rights are there', () => may(AGENT, 'create pods:portforward kube-system'));
          await expectRights(AGENT, yes, [...no, ...AGENT_MAY_NOT]);
          await plane.kubectl(['delete', '-f', '-'], {
            input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: rights }),
          });
          await until('the rights are gone', async () => !(await may(AGENT, 'list secrets kube-system')));
        }
      },
    );

    test('Secrets, roles and CRDs are choices of their own', async () => {
      for (const choice of ['secrets', 'rbac', 'crds']) {
        const path = join(KUSTOMIZE, 'components', `agent-${choice}`, 'rights.yaml');
        await apply(objectsOf(readFileSync(path, 'utf8')));
      }
      await expectRights(AGENT, AGENT_BY_CHOICE, AGENT_MAY_NOT);
    });

    test('the server may do nothing in its cluster, but for custom resources', async () => {
      const questions = ['list placements.fleetrelay.dev', 'patch kubernetesclusters:status.admin.gloo.solo.io web'];
      await expectRights(SERVER, [], [...questions, 'get secrets fleetrelay-server', 'list namespaces']);
      const path = join(KUSTOMIZE, 'components', 'server-custom-resources', 'rights.yaml');
      await apply(objectsOf(readFileSync(path, 'utf8')));
      await expectRights(
        SERVER,
        [...questions, 'watch shoots.core.gardener.cloud', 'create events.events.k8s.io web'],
        ['patch placements.fleetrelay.dev web', 'get secrets fleetrelay-server', 'list namespaces', 'list configmaps'],
      );
    });

    test.skipIf(noProgram('helm'))(
      'replicas of the server may have their Lease, by kustomize and by the chart, and nothing else',
      async () => {
        const yes = [
          'create leases.coordination.k8s.io fleetrelay-server',
          'get leases.coordination.k8s.io/fleetrelay-server fleetrelay-server',
          'update leases.coordination.k8s.io/fleetrelay-server fleetrelay-server',
        ];
        const no = [
          'update leases.coordination.k8s.io/other fleetrelay-server',
          'get leases.coordination.k8s.io/fleetrelay-server kube-system',
          'delete leases.coordination.k8s.io/fleetrelay-server fleetrelay-server',
          'get secrets fleetrelay-server',
          'list pods fleetrelay-server',
        ];
        await expectRights(SERVER, [], [...yes, ...no]);
        const path = join(KUSTOMIZE, 'components', 'server-kubernetes-lease', 'rights.yaml');
        const byKustomize = objectsOf(readFileSync(path, 'utf8'));
        const byChart = (await renderChart('fleetrelay', REPLICATED.kubernetes)).filter(({ kind }) =>
          /^Role/.test(kind),
        );
        for (const rights of [byKustomize, byChart]) {
          await apply(rights);
          await expectRights(SERVER, yes, no);
          await plane.kubectl(['delete', '-f', '-'], {
            input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: rights }),
          });
          await expectRights(SERVER, [], yes);
        }
      },
    );

    test('removing the agent by kustomize leaves the objects of the fleet', async () => {
      await fleetObjects('by-kustomize');
      const objects = await renderKustomization(join(KUSTOMIZE, 'agent'));
      await apply(objects);
      await plane.kubectl(['delete', '--ignore-not-found', '--wait=false', '-f', '-'], {
        input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
      });
      await until('the namespace of the agent is gone', async () => {
        return (await api.send('GET', '/api/v1/namespaces/fleetrelay')).status === 404;
      });
      await expectThere('by-kustomize', ['ours', 'theirs']);
      await apply(objects.filter(({ kind }) => kind === 'Namespace'));
    });

    test.skipIf(noProgram('helm'))(
      'removing a release leaves the objects of the fleet, and the trust of the server',
      async () => {
        await fleetObjects('by-helm');
        const env = { KUBECONFIG: plane.kubeconfig() };
        const folder = mkdtempSync(join(plane.folder, 'helm-'));
        for (const [chart, release] of [
          ['fleetrelay-agent', { ...AGENT_RELEASES.least, name: 'left', namespace: 'fleetrelay' }],
          ['fleetrelay', { ...SERVER_RELEASES.least, name: 'left', namespace: 'fleetrelay-server' }],
        ] as const) {
          const values = release.values ?? {};
          await runHelm(['install', ...releaseArguments(folder, chart, { ...release, values })], env);
          await runHelm(['uninstall', release.name, '--namespace', release.namespace], env);
        }
        rmSync(folder, { recursive: true });
        await expectThere('by-helm', ['ours', 'theirs']);
        const kept = '/namespaces/fleetrelay-server';
        expect(
          (await api.send('GET', `/api/v1${kept}/persistentvolumeclaims/data-left-fleetrelay-server-0`)).status,
        ).toBe(200);
        expect((await api.send('GET', `/api/v1${kept}/secrets/left-fleetrelay-server-api`)).status).toBe(200);
        expect((await api.send('GET', `/apis/apps/v1${kept}/statefulsets/left-fleetrelay-server`)).status).toBe(404);
      },
    );

    test.skipIf(noProgram('helm'))('an upgrade keeps the token of the API', async () => {
      const env = { KUBECONFIG: plane.kubeconfig() };
      const folder = mkdtempSync(join(plane.folder, 'helm-'));
      const release = { name: 'kept', namespace: 'fleetrelay-server', values: SERVER_RELEASES.least?.values ?? {} };
      const token = async (): Promise<string> => {
        const path = '/api/v1/namespaces/fleetrelay-server/secrets/kept-fleetrelay-server-api';
        return (await api.send('GET', path)).body.data.token;
      };
      await runHelm(['install', ...releaseArguments(folder, 'fleetrelay', release)], env);
      const first = await token();
      await runHelm(['upgrade', ...releaseArguments(folder, 'fleetrelay', release)], env);
      expect(await token()).toBe(first);
      expect(Buffer.from(first, 'base64').toString()).toMatch(/^[A-Za-z0-9]{48}$/);
    });

    /** A namespace of the fleet with one object of the fleet and one of another manager. */
    async function fleetObjects(namespace: string): Promise<void> {
      const labels = { 'fleetrelay.dev/fleet': 'test' };
      await apply([
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } },
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ours', namespace, labels }, data: { a: 'b' } },
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'theirs', namespace }, data: { a: 'b' } },
      ]);
    }

    async function expectThere(namespace: string, names: readonly string[]): Promise<void> {
      const { body } = await api.send('GET', `/api/v1/namespaces/${namespace}/configmaps`);
      const there: readonly Manifest[] = body.items;
      const seen = there.map(({ metadata }) => metadata.name).filter((name) => name !== 'kube-root-ca.crt');
      expect(seen.sort()).toEqual(names);
    }
  },
);

/** The pod of a workload, with the volumes that a StatefulSet would make for it. */
function podSpecOf({ template, volumeClaimTemplates = [] }: Manifest): Manifest {
  const claims = volumeClaimTemplates.map(({ metadata: { name } }: Manifest) => ({
    name,
    persistentVolumeClaim: { claimName: `${name}-0` },
  }));
  return { ...template.spec, volumes: [...template.spec.volumes, ...claims] };
}

function crds(): readonly Manifest[] {
  const folder = join(PROJECT, 'deploy', 'crds');
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml');
  return files.flatMap((name) => objectsOf(readFileSync(join(folder, name), 'utf8')));
}

function overlay(base: string, components: readonly string[]): string {
  // From a folder of its own below node_modules/.cache.
  const up = '../../../../deploy/kustomize';
  return [
    'apiVersion: kustomize.config.k8s.io/v1beta1',
    'kind: Kustomization',
    `resources: [${up}/${base}]`,
    `components: [${components.map((name) => `${up}/components/${name}`).join(', ')}]`,
  ].join('\n');
}

const AGENT_MAY = [
  ...['get', 'list', 'watch'].flatMap((verb) =>
    ['namespaces', 'nodes', 'pods', 'replicasets.apps', 'customresourcedefinitions.apiextensions.k8s.io'].map(
      (kind) => `${verb} ${kind}`,
    ),
  ),
  ...['list', 'watch', 'create', 'patch', 'delete'].flatMap((verb) =>
    [
      'configmaps',
      'services',
      'deployments.apps',
      'endpointslices.discovery.k8s.io',
      'virtualservices.networking.istio.io',
    ].map((kind) => `${verb} ${kind} web`),
  ),
  'create namespaces',
  'delete namespaces/web',
  'create leases.coordination.k8s.io fleetrelay',
  'update leases.coordination.k8s.io/fleetrelay-agent fleetrelay',
  'update configmaps/fleetrelay-inventory fleetrelay',
];

const CONTROL_PLANE = 'shoot--web--blue';

const AGENT_MAY_NOT = [
  'update leases.coordination.k8s.io/other fleetrelay',
  'get leases.coordination.k8s.io/fleetrelay-agent kube-system',
  'create pods web',
  'delete pods web',
  'create pods:exec web',
  'get pods:log web',
  'create serviceaccounts:token web',
  'patch nodes',
  'delete nodes',
  'delete persistentvolumes',
  'deletecollection configmaps web',
  'update configmaps web',
  'escalate clusterroles.rbac.authorization.k8s.io',
  'bind clusterroles.rbac.authorization.k8s.io',
  'impersonate users',
  'create validatingwebhookconfigurations.admissionregistration.k8s.io',
  'patch apiservices.apiregistration.k8s.io',
  'approve certificatesigningrequests.certificates.k8s.io',
];

const AGENT_BY_CHOICE = [
  'list secrets',
  'patch secrets web',
  'create clusterrolebindings.rbac.authorization.k8s.io',
  'patch roles.rbac.authorization.k8s.io web',
  'patch customresourcedefinitions.apiextensions.k8s.io',
];
