import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { agentManifests } from '../../../src/compose/manifests/agent-manifests.ts';
import { decodeRelayConfig } from '../../../src/manifest/relay-config.ts';
import { noProgram } from '../../support/programs.ts';
import { AGENT_RELEASES, CA, RELEASES, REPLICATED, releaseOf, SERVER_RELEASES } from './releases.ts';
import { lintChart, type Manifest, PROJECT, renderChart, renderKustomization, renderOverlay } from './rendering.ts';

type Schema = { readonly [key: string]: unknown };

const readSchema = (path: string): Schema => JSON.parse(readFileSync(join(PROJECT, path), 'utf8'));

describe.skipIf(noProgram('helm'))('charts', () => {
  test.for(RELEASES)('%s, %s-values.yaml: nothing to complain of', async ([chart, , release]) => {
    expect(await lintChart(chart, release.values)).toBe('');
    const objects = await renderChart(chart, release);
    expect(objects.length).toBeGreaterThan(3);
  });

  test.for(Object.entries(SERVER_RELEASES))('a server takes the settings of %s-values.yaml', async ([, release]) => {
    const objects = await renderChart('fleetrelay', release);
    const config = configOf(objects);
    expect(decodeRelayConfig('relay-config.yaml', config).diagnostics).toEqual([]);
  });

  test('every field of RelayConfig is a value of the same name, and arrives', async () => {
    const schema = readSchema('schemas/relay-config.json');
    const fields = fieldPaths(schema, schema).filter(([first]) => first !== 'apiVersion' && first !== 'kind');
    expect(fields.length).toBeGreaterThan(30);
    for (const path of fields) {
      const values = {
        sources: [GIT],
        customResources: { enabled: path[2] === 'kubernetes' },
        ...((path[0] === 'sources'
          ? nested(path, sample(schema, path))
          : withNeeded(schema, schema, nested(path, sample(schema, path)))) as object),
      };
      if (path[0] === 'sources') {
        const merged = mergedSource(values.sources);
        values.sources = withNeeded(schema, propertiesOf(schema).sources, merged) as typeof merged;
      }
      const rendered = await renderChart('fleetrelay', { name: 'fleetrelay', namespace: 'x', values }).catch(
        (error: Error) => error,
      );
      expect(rendered, `${path.join('.')} is a value`).not.toBeInstanceOf(Error);
      const written = load(new TextDecoder().decode(configOf(rendered as readonly Manifest[])));
      expect(valueAt(written, path), path.join('.')).toEqual(sample(schema, path));
    }
  });

  test('every field of a FleetPolicy can be said, and is a source of its own', async () => {
    const policy = {
      guards: { maxRemovalsPerCluster: 3 },
      status: { enabled: false },
      discovery: { excludedNamespaces: ['kube-system'] },
      drift: { ignoredFields: [{ group: 'apps', kind: 'Deployment', fields: ['spec.replicas'] }] },
      health: { sidecars: ['my-proxy'], reportWaitSeconds: 60 },
      healthChecks: [{ apiVersion: 'example.com/v1', kind: 'Widget', current: 'status.ready' }],
      care: { monitorPeriod: '60s' },
    };
    const schema = readSchema('schemas/fleet-policy.json');
    const said = [...Object.keys(policy), 'safeMode'].sort();
    expect(Object.keys(propertiesOf(propertiesOf(schema).spec)).sort(), 'this test says all of them').toEqual(said);
    const values = { sources: [GIT], policy, safeMode: { mode: 'strict' } };
    const objects = await renderChart('fleetrelay', { name: 'fleetrelay', namespace: 'x', values });
    const settings = objects.find(({ kind }) => kind === 'ConfigMap');
    expect(load(settings?.data['fleet-policy.yaml'])).toMatchObject({
      kind: 'FleetPolicy',
      spec: { ...policy, safeMode: { mode: 'strict' } },
    });
    const config = load(settings?.data['relay-config.yaml']) as { readonly sources: readonly unknown[] };
    const chart = { name: 'chart', allow: { kinds: ['FleetPolicy'] }, files: { path: '/etc/fleetrelay/policy' } };
    expect(config.sources).toEqual([chart, { ...GIT, allow: { kinds: ['*'], labelKeys: ['*'] } }]);
  });

  test.for([
    ['fleetrelay', { sources: [GIT], relay: { lissten: {} } }, /lissten/],
    ['fleetrelay', { sources: [GIT], persistance: {} }, /persistance/],
    ['fleetrelay', { sources: [] }, /sources/],
    ['fleetrelay', { sources: [{ name: 'crs', kubernetes: {} }] }, /customResources\.enabled/],
    ['fleetrelay', { sources: [GIT], safeMode: { mode: 'stricter' } }, /safeMode/],
    ['fleetrelay', { sources: [GIT], policy: { guard: {} } }, /guard/],
    ['fleetrelay', { sources: [GIT], logLevel: 'loud' }, /logLevel/],
    ['fleetrelay-agent', { ...agent(), cluster: 'East' }, /cluster/],
    ['fleetrelay-agent', { ...agent(), relay: { serverAddress: 'https://relay:9900' } }, /serverAddress/],
    ['fleetrelay-agent', { ...agent(), replicas: 3 }, /replicas/],
    ['fleetrelay-agent', { ...agent(), rbac: { secret: true } }, /secret/],
    ['fleetrelay-agent', { ...agent(), rbac: {} }, /rbac\.namespaces names.*rbac\.allNamespaces: true/],
    ['fleetrelay-agent', { ...agent(), rbac: { namespaces: ['web'], allNamespaces: true } }, /contradict each other/],
    ['fleetrelay-agent', { ...agent(), rbac: { namespaces: ['kube-system'] } }, /kube-system, which is protected/],
    [
      'fleetrelay-agent',
      { ...agent(), rbac: { namespaces: ['web'], clusterAdmin: true } },
      /rbac\.allNamespaces: true/,
    ],
    [
      'fleetrelay-agent',
      { ...agent(), leaderElection: { enabled: false } },
      /two agents would work against each other/,
    ],
    ['fleetrelay-agent', { ...agent(), relay: { serverAddress: 'a:1' } }, /needs a token or a certificate/],
    ['fleetrelay', { sources: [GIT], replicaCount: 2 }, /store\.type: redis/],
    ['fleetrelay', { ...REPLICATED.store.values, replicas: { mode: 'one' } }, /must not be one/],
    ['fleetrelay', { ...REPLICATED.store.values, relay: {} }, /share the relay secret/],
    ['fleetrelay', { ...REPLICATED.store.values, persistence: { existingClaim: 'a' } }, /volume of its own/],
    ['fleetrelay', { ...REPLICATED.store.values, replicaCount: 0 }, /replicaCount/],
    ['fleetrelay-agent', { ...agent(), relay: { ...agent().relay, token: 'x' } }, /say one/],
    ['fleetrelay-agent', { ...agent(), webhook: { certManager: { enabled: true } } }, /issuerRef\.name is missing/],
    [
      'fleetrelay-agent',
      { ...agent(), webhook: { certManager: { enabled: true }, tlsSecret: { name: 'a' } } },
      /say one/,
    ],
  ] as const)('%s refuses %j', async ([chart, values, complaint]) => {
    await expect(renderChart(chart, { name: 'x', namespace: 'x', values })).rejects.toThrow(complaint);
  });

  test('custom resources are read where they are enabled, as a source says or all of them', async () => {
    const sourcesWith = async (sources: readonly object[], enabled: boolean) => {
      const values = { sources, customResources: { enabled } };
      const objects = await renderChart('fleetrelay', { name: 'fleetrelay', namespace: 'x', values });
      return decodeRelayConfig('relay-config.yaml', configOf(objects)).config?.sources.map(({ type }) => type);
    };
    expect(await sourcesWith([GIT], false)).toEqual(['git']);
    expect(await sourcesWith([GIT], true)).toEqual(['git', 'kubernetes']);
    expect(await sourcesWith([{ name: 'crs', kubernetes: { namespaces: ['a'] } }, GIT], true)).toHaveLength(2);
    const elsewhere = { name: 'crs', kubernetes: { kubeconfig: '/etc/fleetrelay/secrets/management/kubeconfig' } };
    expect(await sourcesWith([elsewhere], false)).toEqual(['kubernetes']);
  });

  test('replicas share secret and store, have a name each, and the rights for a Lease only where there is one', async () => {
    const [shared, leased, alone] = await Promise.all(
      [REPLICATED.store, REPLICATED.kubernetes, releaseOf(SERVER_RELEASES, 'least')].map((release) =>
        renderChart('fleetrelay', release),
      ),
    );
    const rights = (objects: readonly Manifest[] = []) => objects.filter(({ kind }) => /^Role/.test(kind));
    const serverIn = (objects: readonly Manifest[] = []) =>
      objects.find(({ kind }) => kind === 'StatefulSet')?.spec ?? missing();
    for (const objects of [shared, alone]) {
      expect(rights(objects)).toEqual([]);
      expect(serverIn(objects).template.spec.automountServiceAccountToken).toBe(false);
    }
    expect(rights(leased).map(({ kind }) => kind)).toEqual(['Role', 'RoleBinding']);
    expect(serverIn(leased).template.spec.automountServiceAccountToken).toBe(true);
    expect(configIn(leased).replicas.lease).toBe('kubernetes');

    expect([serverIn(shared).replicas, serverIn(alone).replicas]).toEqual([2, 1]);
    const headless = shared?.find(({ metadata }) => metadata.name === serverIn(shared).serviceName) ?? missing();
    expect(headless.spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true });
    expect(serverIn(shared).template.spec.containers[0].args).toContain(
      '--advertise=$(POD_NAME).fleetrelay-server-replicas.$(POD_NAMESPACE).svc:9980',
    );
    expect(serverIn(shared).volumeClaimTemplates).toHaveLength(1);
    const mounts = serverIn(shared).template.spec.containers[0].volumeMounts as readonly {
      readonly mountPath: string;
    }[];
    for (const name of ['redis', 'relay', 'relay-tls']) {
      expect(mounts.map(({ mountPath }) => mountPath)).toContain(`/etc/fleetrelay/secrets/${name}`);
    }
    expect(portsOut(shared)).toEqual([53, 53, 'http', 443, 6390]);
    expect(portsOut(leased)).toEqual([53, 53, 'http', 443, 6390, 6443]);
    expect(portsOut(alone)).toEqual([53, 53, 'http', 443]);
  });

  test('what a StatefulSet does not let be changed is the same in every version of the chart', async () => {
    const labels = { 'app.kubernetes.io/name': 'fleetrelay-server', 'app.kubernetes.io/instance': 'fleetrelay' };
    const objects = await renderChart('fleetrelay', REPLICATED.store);
    const { selector, volumeClaimTemplates } = objects.find(({ kind }) => kind === 'StatefulSet')?.spec ?? missing();
    expect(selector.matchLabels).toEqual(labels);
    expect(volumeClaimTemplates[0].metadata.labels).toEqual(labels);
  });

  test('an API with TLS is advertised as such, and another address as configured', async () => {
    const tls = { certFile: '/a', keyFile: '/b' };
    const argumentsWith = async (more: object) => {
      const objects = await renderChart('fleetrelay', {
        ...REPLICATED.store,
        values: { ...REPLICATED.store.values, ...more },
      });
      const spec = objects.find(({ kind }) => kind === 'StatefulSet')?.spec ?? missing();
      return spec.template.spec.containers[0].args.filter((arg: string) => arg.startsWith('--advertise'));
    };
    expect(await argumentsWith({ http: { tls, listen: { address: '0.0.0.0', port: 9999 } } })).toEqual([
      '--advertise=https://$(POD_NAME).fleetrelay-server-replicas.$(POD_NAMESPACE).svc:9999',
    ]);
    expect(await argumentsWith({ replicas: { advertise: 'https://fleet.example.com' } })).toEqual([]);
  });

  test('an agent with a certificate from elsewhere demands no token', async () => {
    const podWith = async (relay: object) => {
      const values = { ...agent(), relay: { serverAddress: 'a:1', ...relay } };
      const objects = await renderChart('fleetrelay-agent', { name: 'fleetrelay-agent', namespace: 'x', values });
      const pod = objects.find(({ kind }) => kind === 'Deployment')?.spec.template.spec ?? missing();
      const secrets = pod.volumes.flatMap(({ secret }: Manifest) => (secret === undefined ? [] : [secret.secretName]));
      const files = pod.containers[0].args.filter((arg: string) => /^--(token|cert|key)-file/.test(arg));
      return { secrets, files };
    };
    const certificate = ['--cert-file=/etc/fleetrelay/client/tls.crt', '--key-file=/etc/fleetrelay/client/tls.key'];
    const token = '--token-file=/etc/fleetrelay/token/token';
    const clientTlsSecret = { name: 'east-tls' };
    expect(await podWith({ clientTlsSecret })).toEqual({ secrets: ['east-tls'], files: certificate });
    expect(await podWith({ tokenSecret: { name: 't' } })).toEqual({ secrets: ['t'], files: [token] });
    expect(await podWith({ clientTlsSecret, tokenSecret: { name: 't' } })).toEqual({
      secrets: ['t', 'east-tls'],
      files: [token, ...certificate],
    });
  });

  test.skipIf(noProgram('kubectl'))('the component for custom resources turns them on', async () => {
    const up = '../../../../deploy/kustomize';
    const [server] = (
      await renderOverlay({
        'kustomization.yaml': [
          'apiVersion: kustomize.config.k8s.io/v1beta1',
          'kind: Kustomization',
          `resources: [${up}/management-server]`,
          `components: [${up}/components/server-custom-resources]`,
        ].join('\n'),
      })
    ).filter(({ kind }) => kind === 'StatefulSet');
    const { automountServiceAccountToken, containers } = server?.spec.template.spec ?? missing();
    expect(automountServiceAccountToken).toBe(true);
    expect(containers[0].args).toContain('--custom-resources');
    expect(containers[0].args[0]).toBe('serve');
  });

  test.skipIf(noProgram('kubectl'))(
    'Envoys are served where xds is given, by the chart as by the component',
    async () => {
      const xds = { listen: { address: '0.0.0.0', port: 5678 } };
      const release = (values: object) => ({ name: 'fleetrelay', namespace: 'fleetrelay-server', values });
      const withXds = (objects: readonly Manifest[]) => {
        const stateful = objects.find(({ kind }) => kind === 'StatefulSet') ?? missing();
        const services = objects.filter(({ kind, metadata }) => {
          return kind === 'Service' && metadata.name === 'fleetrelay-server-xds';
        });
        const named = (ports: readonly { readonly name: string }[]) => ports.filter(({ name }) => /xds/.test(name));
        const ingress = objects
          .filter(({ kind, spec }) => kind === 'NetworkPolicy' && spec.podSelector.matchLabels !== undefined)
          .flatMap(({ spec }) => spec.ingress ?? [])
          .filter(
            ({ ports, from }) => from === undefined && ports.some(({ port }: Manifest) => [5678, 'xds'].includes(port)),
          );
        return {
          services: services.flatMap(({ spec }) => named(spec.ports)),
          ports: named(stateful.spec.template.spec.containers[0].ports),
          ways: ingress.length,
        };
      };
      const up = '../../../../deploy/kustomize';
      const overlay = (components: string) =>
        renderOverlay({
          'kustomization.yaml': `apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [${up}/management-server]\ncomponents: [${components}]\n`,
        });
      const byChart = await renderChart('fleetrelay', release({ sources: [GIT], xds }));
      const byComponent = await overlay(`${up}/components/server-xds`);
      const wanted = {
        services: [{ name: 'grpc-xds', port: 5678, targetPort: 'xds', protocol: 'TCP', appProtocol: 'grpc' }],
        ports: [{ name: 'xds', containerPort: 5678, protocol: 'TCP' }],
        ways: 1,
      };
      expect(withXds(byChart)).toEqual(wanted);
      expect(withXds(byComponent)).toEqual(wanted);
      const [server] = byComponent.filter(({ kind }) => kind === 'StatefulSet');
      expect(server?.spec.template.spec.containers[0].args).toContain('--xds=0.0.0.0:5678');
      const config = decodeRelayConfig('relay-config.yaml', configOf(byChart)).config;
      expect(config?.xds?.listen).toEqual(xds.listen);
      expect(configIn(byChart).relay.tls.names).toContain('fleetrelay-server-xds.fleetrelay-server.svc');

      const nothing = { services: [], ports: [], ways: 0 };
      const least = await renderChart('fleetrelay', release({ sources: [GIT] }));
      expect(withXds(least)).toEqual(nothing);
      expect(withXds(await overlay(''))).toEqual(nothing);
      expect(configIn(least).relay.tls.names.filter((name: string) => name.includes('xds'))).toEqual([]);
    },
  );

  test.skipIf(noProgram('kubectl'))(
    'chart, component and cluster register install one webhook, and nothing without it',
    async () => {
      const ofWebhook = (objects: readonly Manifest[]) =>
        objects.filter(
          ({ metadata, kind }) => /-webhook$/.test(metadata.name) || kind === 'MutatingWebhookConfiguration',
        );
      const kinds = (objects: readonly Manifest[]) => ofWebhook(objects).map(({ kind }) => kind);
      const up = '../../../../deploy/kustomize';
      const byComponent = await renderOverlay({
        'kustomization.yaml': `apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [${up}/agent]\ncomponents: [${up}/components/agent-webhook]\n`,
      });
      const byChart = await renderChart('fleetrelay-agent', releaseOf(AGENT_RELEASES, 'webhook'));
      const unused = { cluster: 'east', server: 'relay.example.com:9900', image: 'fleetrelay:0.1.0' };
      const place = { namespace: 'fleetrelay', ca: CA, writable: 'all' } as const;
      const byCommand = agentManifests({ ...unused, ...place, webhook: true }) as unknown as readonly Manifest[];
      const part = (objects: readonly Manifest[], kind: string) =>
        ofWebhook(objects).find((object) => object.kind === kind) ?? missing();
      const wanted = [
        'ClusterRole',
        'ClusterRoleBinding',
        'MutatingWebhookConfiguration',
        'Role',
        'RoleBinding',
        'Service',
      ];
      for (const objects of [byChart, byComponent, byCommand]) {
        expect(
          kinds(objects)
            .filter((kind) => kind !== 'NetworkPolicy')
            .sort(),
        ).toEqual(wanted);
        for (const kind of ['ClusterRole', 'Role'])
          expect(part(objects, kind).rules).toEqual(part(byCommand, kind).rules);
        const { webhooks, metadata } = part(objects, 'MutatingWebhookConfiguration');
        expect(metadata.name).toBe('fleetrelay-agent');
        expect(webhooks).toEqual(part(byCommand, 'MutatingWebhookConfiguration').webhooks);
        expect(JSON.stringify(webhooks)).not.toMatch(/caBundle|failurePolicy/);
        expect(part(objects, 'Service').spec.ports).toEqual(part(byCommand, 'Service').spec.ports);
        const { containers } = objects.find(({ kind }) => kind === 'Deployment')?.spec.template.spec ?? missing();
        expect(containers[0].args).toEqual(
          expect.arrayContaining(['--webhook=0.0.0.0:9443', '--webhook-image=fleetrelay:0.1.0']),
        );
        expect(containers[0].ports).toContainEqual({ name: 'webhook', containerPort: 9443, protocol: 'TCP' });
        const ways = objects.filter(({ kind }) => kind === 'NetworkPolicy').flatMap(({ spec }) => spec.ingress ?? []);
        expect(
          ways.filter(({ from, ports }) => from === undefined && [9443, 'webhook'].includes(ports[0].port)),
        ).toHaveLength(1);
      }
      const plain = agentManifests({ ...unused, ...place }) as unknown as readonly Manifest[];
      for (const objects of [plain, await renderChart('fleetrelay-agent', releaseOf(AGENT_RELEASES, 'least'))]) {
        expect(kinds(objects)).toEqual([]);
      }
    },
  );

  test('the policy protects Namespaces only, and is left out where it cannot be or would not hold', async () => {
    const policyWith = async (values: object) => {
      const release = { name: 'fleetrelay-agent', namespace: 'relay', values: { ...agent(), ...values } };
      const objects = await renderChart('fleetrelay-agent', release);
      return objects.find(({ kind }) => kind === 'ValidatingAdmissionPolicy');
    };
    const placesIn = (policy: Manifest = missing()) =>
      policy.spec.variables.find(({ name }: Manifest) => name === 'isProtected').expression;
    const own = '|| variables.place == variables.agentNamespace';
    expect(placesIn(await policyWith({ admissionPolicy: { namespaces: [] } }))).toBe(
      `variables.place in ['kube-system', 'relay'] ${own}`,
    );
    expect(placesIn(await policyWith({ admissionPolicy: { namespaces: ['a', 'b'] } }))).toBe(
      `variables.place in ['kube-system', 'a', 'b', 'relay'] ${own}`,
    );
    expect(await policyWith({ admissionPolicy: { enabled: false } })).toBeUndefined();
    expect(await policyWith({ rbac: { allNamespaces: true, clusterAdmin: true } })).toBeUndefined();
  });

  test('a release of another name has a webhook, rights and a Secret of its own; a certificate may come from elsewhere', async () => {
    const objects = await renderChart('fleetrelay-agent', releaseOf(AGENT_RELEASES, 'most'));
    const of = (kind: string, name: string) =>
      objects.find((object) => object.kind === kind && object.metadata.name === name) ?? missing();
    const { webhooks } = of('MutatingWebhookConfiguration', 'other-fleetrelay-agent');
    const service = of('Service', 'other-fleetrelay-agent-webhook').metadata.name;
    for (const { clientConfig } of webhooks) expect(clientConfig.service.name).toBe(service);
    expect(of('ClusterRole', service).rules[0].resourceNames).toEqual(['other-fleetrelay-agent']);
    expect(of('Role', service).rules[0].resourceNames).toEqual([service]);
    const { containers, volumes } = of('Deployment', 'other-fleetrelay-agent').spec.template.spec;
    expect(containers[0].args).toEqual(
      expect.arrayContaining([
        '--webhook-configuration=other-fleetrelay-agent',
        `--webhook-service=${service}`,
        `--webhook-secret=${service}`,
        '--webhook-cert-file=/etc/fleetrelay/webhook/tls.crt',
        '--webhook-key-file=/etc/fleetrelay/webhook/tls.key',
        '--webhook-ca-file=/etc/fleetrelay/webhook/ca.crt',
      ]),
    );
    expect(volumes.find(({ name }: Manifest) => name === 'webhook').secret.secretName).toBe('webhook-tls');

    const issuerRef = { name: 'fleet', kind: 'ClusterIssuer' };
    const values = { ...agent(), webhook: { enabled: true, certManager: { enabled: true, issuerRef } } };
    const issued = await renderChart('fleetrelay-agent', { name: 'fleetrelay-agent', namespace: 'relay', values });
    const certificate = issued.find(({ kind }) => kind === 'Certificate') ?? missing();
    expect(certificate.spec).toEqual({
      secretName: 'fleetrelay-agent-webhook-tls',
      dnsNames: ['fleetrelay-agent-webhook.relay.svc'],
      issuerRef,
    });
    const pod = issued.find(({ kind }) => kind === 'Deployment')?.spec.template.spec ?? missing();
    expect(pod.volumes.find(({ name }: Manifest) => name === 'webhook').secret.secretName).toBe(
      certificate.spec.secretName,
    );
  });

  test('the token of the API is not made where there is one', async () => {
    const kinds = async (name: keyof typeof SERVER_RELEASES) =>
      (await renderChart('fleetrelay', releaseOf(SERVER_RELEASES, name))).map(({ kind }) => kind);
    expect(await kinds('least')).toContain('Secret');
    expect(await kinds('most')).not.toContain('Secret');
    expect(await kinds('without-a-volume')).not.toContain('Secret');
  });

  test.skipIf(noProgram('kubectl'))('the charts and the kustomize bases say the same', async () => {
    for (const [chart, base, release] of [
      ['fleetrelay-agent', 'agent', releaseOf(AGENT_RELEASES, 'least')],
      ['fleetrelay', 'management-server', releaseOf(SERVER_RELEASES, 'least')],
    ] as const) {
      const byChart = new Map((await renderChart(chart, release)).map((object) => [nameOf(object), object]));
      for (const object of await renderKustomization(join(PROJECT, 'deploy', 'kustomize', base))) {
        // A chart may share its namespace, so it neither makes it nor shuts it.
        if (object.kind === 'Namespace' || object.metadata.name.endsWith('-default-deny')) continue;
        const other = byChart.get(nameOf(object));
        expect(other, nameOf(object)).toBeDefined();
        if (object.rules !== undefined) expect(other?.rules, nameOf(object)).toEqual(object.rules);
        if (object.subjects !== undefined) expect(other?.subjects, nameOf(object)).toEqual(object.subjects);
        if (object.kind === 'Deployment' || object.kind === 'StatefulSet') samePods(object, other ?? missing());
      }
    }
  });
});

const GIT = { name: 'fleet', git: { url: 'https://git.example.com/fleet.git' } };

function agent() {
  const relay = { serverAddress: 'relay.example.com:9900', tokenSecret: { name: 'token' } };
  return { cluster: 'east', relay, rbac: { namespaces: ['web'] } };
}

function missing(): never {
  throw new Error('this is not there');
}

/** Ports that the pods may dial. */
function portsOut(objects: readonly Manifest[] = []): readonly unknown[] {
  const policy = objects.find(({ kind }) => kind === 'NetworkPolicy') ?? missing();
  return policy.spec.egress.flatMap(({ ports }: { readonly ports: readonly { readonly port: unknown }[] }) =>
    ports.map(({ port }) => port),
  );
}

function configIn(objects: readonly Manifest[] = []): Manifest {
  return load(new TextDecoder().decode(configOf(objects))) as Manifest;
}

/** Names of generated ConfigMaps end in a digest. */
function nameOf({ kind, metadata }: Manifest): string {
  return `${kind}/${metadata.name.replace(/-[a-z0-9]{10}$/, '')}`;
}

function samePods(base: Manifest, chart: Manifest): void {
  const [ours, theirs] = [base.spec.template.spec, chart.spec.template.spec];
  expect(theirs.securityContext).toEqual(ours.securityContext);
  expect(theirs.automountServiceAccountToken).toBe(ours.automountServiceAccountToken);
  const [mine, other] = [ours.containers[0], theirs.containers[0]];
  for (const field of [
    'args',
    'env',
    'ports',
    'livenessProbe',
    'readinessProbe',
    'startupProbe',
    'resources',
    'securityContext',
    'image',
  ]) {
    expect(withoutDigests(other[field]), `${base.metadata.name} ${field}`).toEqual(withoutDigests(mine[field]));
  }
}

function withoutDigests(value: unknown): unknown {
  return value === undefined
    ? undefined
    : JSON.parse(JSON.stringify(value).replaceAll(/(fleetrelay-[a-z-]+)-[a-z0-9]{10}"/g, '$1"'));
}

function configOf(objects: readonly Manifest[]): Uint8Array {
  const settings = objects.find(({ kind }) => kind === 'ConfigMap');
  return new TextEncoder().encode(settings?.data['relay-config.yaml']);
}

/** Paths of all fields that hold a value themselves; `0` stands for the first item of a list. */
function fieldPaths(root: Schema, schema: Schema, at: readonly string[] = []): readonly (readonly string[])[] {
  const here = resolved(root, schema);
  const properties = Object.entries(propertiesOf(here));
  if (properties.length > 0) {
    return properties.flatMap(([name, part]) => fieldPaths(root, part as Schema, [...at, name]));
  }
  const items = here.items as Schema | undefined;
  if (items !== undefined && Object.keys(propertiesOf(resolved(root, items))).length > 0) {
    return fieldPaths(root, items, [...at, '0']);
  }
  return [at];
}

function schemaAt(root: Schema, path: readonly string[]): Schema {
  return path.reduce((schema, step) => {
    const here = resolved(root, schema);
    return (step === '0' ? here.items : propertiesOf(here)[step]) as Schema;
  }, root);
}

/** A value that is allowed and, where that can be, not the default. */
function sample(root: Schema, path: readonly string[]): unknown {
  const schema = resolved(root, schemaAt(root, path));
  const [example] = (schema.examples ?? []) as readonly unknown[];
  if (path.join('.') === 'relay.tls.mode') return 'insecure';
  // The chart adds the names of its Service; they are its own where certificates are given.
  if (Array.isArray(schema.enum)) return schema.enum.at(-1);
  if (schema.type === 'boolean') return schema.default !== true;
  if (example !== undefined) return example;
  return schema.type === 'integer' || schema.type === 'number' ? schema.minimum : 'a-value';
}

function resolved(root: Schema, schema: Schema): Schema {
  const reference = schema.$ref;
  if (typeof reference !== 'string') return schema;
  return (root.$defs as Schema)[reference.replace('#/$defs/', '')] as Schema;
}

function propertiesOf(schema: unknown): Schema {
  return ((schema as Schema | undefined)?.properties ?? {}) as Schema;
}

function nested(path: readonly string[], value: unknown): Record<string, unknown> {
  const [step = '', ...rest] = path;
  const inner = rest.length === 0 ? value : nested(rest, value);
  return step === '0' ? ([inner] as unknown as Record<string, unknown>) : { [step]: inner };
}

/** The value with what the schema demands beside what is there. */
function withNeeded(root: Schema, schema: unknown, value: unknown): unknown {
  const here = resolved(root, schema as Schema);
  if (Array.isArray(value)) return value.map((item) => withNeeded(root, here.items, item));
  if (typeof value !== 'object' || value === null) return value;
  const properties = propertiesOf(here);
  const members = Object.entries(value).map(([name, part]) => [name, withNeeded(root, properties[name], part)]);
  const choices = ((here.oneOf ?? []) as readonly Schema[]).map(({ required }) => String(required));
  const chosen = choices.some((name) => name in value) ? [] : choices.slice(0, 1);
  const required = [...((here.required ?? []) as readonly string[]), ...chosen];
  const needed = required.filter((name) => properties[name] !== undefined);
  const missing = needed.filter((name) => !(name in value) && here !== root);
  return Object.fromEntries([...members, ...missing.map((name) => [name, sample(here, [name])])]);
}

/** A source needs a name and one kind of place. */
function mergedSource(sources: unknown): (typeof GIT)[] {
  const [source] = sources as [{ readonly git?: object; readonly files?: object }];
  const place = Object.entries(source).find(([key]) => ['git', 'files', 'kubernetes'].includes(key));
  const needed =
    place === undefined ? GIT : place[0] === 'git' ? { ...GIT, git: { ...GIT.git, ...source.git } } : source;
  return [
    { ...needed, ...(place === undefined ? source : {}), name: (source as { name?: string }).name ?? 'fleet' },
  ] as (typeof GIT)[];
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  const found = path.reduce<unknown>((part, step) => (part as Schema | undefined)?.[step], value);
  // The names of the Service are added to those that were given.
  return path.join('.') === 'relay.tls.names' ? (found as readonly string[]).slice(0, 1) : found;
}
