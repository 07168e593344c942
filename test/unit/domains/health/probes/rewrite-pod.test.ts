import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rewritePod } from '../../../../../src/domains/health/probes/rewrite-pod.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { annotationsOf, containersOf, options, podWith, rewritten } from './support.ts';

const http = (port: number | string, path = '/'): JsonObject => ({ httpGet: { path, port } });

describe('a rewritten Pod', () => {
  it('has the effective settings, the list of its probes and the container that serves them', () => {
    const pod = podWith({
      livenessProbe: { ...http(8080, '/live'), timeoutSeconds: 3 },
      readinessProbe: { tcpSocket: { port: 5432 } },
      startupProbe: { grpc: { port: 9090, service: 'up' } },
    });
    const result = rewritten(pod);
    expect(result.warnings).toEqual([]);
    expect(result.probes).toEqual([
      { type: 'http', port: 8080, path: '/live', scheme: 'HTTP', timeoutSeconds: 3 },
      { type: 'tcp', port: 5432, timeoutSeconds: 1 },
      { type: 'grpc', port: 9090, service: 'up', timeoutSeconds: 1 },
    ]);
    const list = annotationsOf(result.pod)['fleetrelay.dev/probes'];
    expect(JSON.parse(String(list))).toEqual(result.probes);
    expect(annotationsOf(result.pod)).toEqual({
      'kuma.io/application-probe-proxy-port': '9001',
      'kuma.io/virtual-probes': 'disabled',
      'kuma.io/virtual-probes-port': '9000',
      'fleetrelay.dev/probes': list,
    });
    const [app] = containersOf(result.pod);
    expect([app?.livenessProbe, app?.readinessProbe, app?.startupProbe]).toMatchObject([
      { httpGet: { path: '/8080/live', port: 9001 } },
      { httpGet: { path: '/tcp/5432', port: 9001 } },
      { httpGet: { path: '/grpc/9090', port: 9001 } },
    ]);
    expect(containersOf(result.pod, 'initContainers')).toMatchObject([
      {
        name: 'fleetrelay-probe-proxy',
        image: 'fleetrelay:1.2.3',
        restartPolicy: 'Always',
        args: ['probe-proxy', '--port=9001', '--pod-ip=$(POD_IP)', '--probes=/etc/fleetrelay/probes/probes.json'],
        startupProbe: { httpGet: { path: '/ready', port: 9001 } },
      },
    ]);
  });

  it('has the proxy as first init container, and rewritten probes in the sidecars after it', () => {
    const pod = podWith({});
    const initContainers = [
      { name: 'migrate', image: 'm' },
      { name: 'log', image: 'l', restartPolicy: 'Always', startupProbe: http(80) },
      { name: 'odd', image: 'o', startupProbe: http(80) },
    ];
    const result = rewritten({ ...pod, spec: { ...(pod.spec as JsonObject), initContainers } });
    const [proxy, ...others] = containersOf(result.pod, 'initContainers');
    expect(proxy?.name).toBe('fleetrelay-probe-proxy');
    expect(others).toEqual([
      initContainers[0],
      { ...initContainers[1], startupProbe: http(9001, '/80/') },
      initContainers[2],
    ]);
  });

  it('has the proxy as a normal container for old API servers, and init containers as they are', () => {
    const pod = podWith({ livenessProbe: http(80) });
    const initContainers = [{ name: 'log', image: 'l', restartPolicy: 'Always', startupProbe: http(80) }];
    const result = rewritten({ ...pod, spec: { ...(pod.spec as JsonObject), initContainers } }, options({}, false));
    expect(containersOf(result.pod, 'initContainers')).toEqual(initContainers);
    const [app, proxy, ...others] = containersOf(result.pod);
    expect([app?.name, proxy?.name, others]).toEqual(['app', 'fleetrelay-probe-proxy', []]);
    expect(proxy).not.toHaveProperty('restartPolicy');
    expect(app?.livenessProbe).toEqual(http(9001, '/80/'));
  });

  it('serves Virtual Probes if the Pod turns the proxy off', () => {
    const probes = { livenessProbe: http(80), readinessProbe: { tcpSocket: { port: 80 } } };
    const { pod, probes: listed } = rewritten(podWith(probes, { 'kuma.io/application-probe-proxy-port': '0' }));
    expect(containersOf(pod)[0]).toMatchObject({
      livenessProbe: http(9000, '/80/'),
      readinessProbe: probes.readinessProbe,
    });
    expect(annotationsOf(pod)).toMatchObject({ 'kuma.io/virtual-probes': 'enabled' });
    expect(listed).toEqual([{ type: 'virtual', port: 80, path: '/', timeoutSeconds: 1 }]);
    const [proxy] = containersOf(pod, 'initContainers');
    expect(proxy).toMatchObject({ startupProbe: { tcpSocket: { port: 9000 } } });
    expect(proxy?.args).toEqual([
      'probe-proxy',
      '--virtual-probes-port=9000',
      '--pod-ip=$(POD_IP)',
      '--probes=/etc/fleetrelay/probes/probes.json',
    ]);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['no probe', podWith({}), { 'kuma.io/application-probe-proxy-port': '9001' }],
    ['exec alone', podWith({ livenessProbe: { exec: { command: ['x'] } } }), {}],
    [
      'a gateway',
      podWith({ livenessProbe: http(9001) }, { 'kuma.io/gateway': 'enabled' }),
      { 'kuma.io/application-probe-proxy-port': '0' },
    ],
    ['an unknown named port', podWith({ livenessProbe: http('web') }), {}],
  ])('without a rewritten probe has annotations only: %s', (_, pod, annotations) => {
    const result = rewritten(pod);
    expect(result.pod.spec).toEqual(pod.spec);
    expect(result.probes).toEqual([]);
    expect(annotationsOf(result.pod)).toMatchObject(annotations);
    expect(annotationsOf(result.pod)).not.toHaveProperty('fleetrelay.dev/probes');
  });

  it('keeps its own annotations, containers, volumes and other fields', () => {
    const pod = podWith({ livenessProbe: http(80), ports: [{ containerPort: 80 }] }, { mine: 'x' });
    const spec = { ...(pod.spec as JsonObject), volumes: [{ name: 'v', emptyDir: {} }], nodeName: 'n' };
    const result = rewritten({ ...pod, spec });
    expect(annotationsOf(result.pod).mine).toBe('x');
    expect(result.pod.spec).toMatchObject({ nodeName: 'n', volumes: [{ name: 'v' }, { name: 'fleetrelay-probes' }] });
  });

  it('warns at the field', () => {
    const { warnings, probes } = rewritten(
      podWith({ livenessProbe: http('web'), readinessProbe: http(80), ports: [{ containerPort: 9001 }] }),
    );
    expect(probes).toHaveLength(1);
    expect(warnings).toEqual([
      {
        message: 'the container declares no port "web"; the probe stays as it is',
        path: ['spec', 'containers', 0, 'livenessProbe', 'httpGet', 'port'],
      },
      {
        message: 'the container declares port 9001, on which the probe proxy listens',
        path: ['spec', 'containers', 0, 'ports', 0, 'containerPort'],
      },
    ]);
  });
});

describe('a Pod that is not rewritten', () => {
  it.each(['kuma-sidecar', 'fleetrelay-probe-proxy'])('has a container %s already', (name) => {
    const pod = podWith({ livenessProbe: http(9001) }, { 'kuma.io/virtual-probes': 'wrong' });
    const spec = pod.spec as JsonObject;
    const more = { name, image: 'x' };
    const beside = { ...pod, spec: { ...spec, containers: [...containersOf(pod), more] } };
    const before = { ...pod, spec: { ...spec, initContainers: [{ ...more, restartPolicy: 'Always' }] } };
    for (const each of [beside, before]) {
      expect(rewritePod(each, options())).toEqual({ type: 'unchanged', warnings: [] });
    }
  });

  it('is refused at the probe whose port is reserved', () => {
    const pod = podWith({ livenessProbe: http(80), readinessProbe: http(9001) });
    expect(rewritePod(pod, options())).toEqual({
      type: 'refused',
      problem: {
        message: expect.stringContaining('Port for probe cannot be set to 9001.'),
        path: ['spec', 'containers', 0, 'readinessProbe', 'httpGet', 'port'],
      },
    });
  });

  it('is refused at the annotation', () => {
    expect(rewritePod(podWith({}, { 'kuma.io/virtual-probes': 'maybe' }), options())).toEqual({
      type: 'refused',
      problem: {
        message: 'annotation "kuma.io/virtual-probes" has wrong value "maybe"',
        path: ['metadata', 'annotations', 'kuma.io/virtual-probes'],
      },
    });
  });
});

const port = fc.constantFrom<(number | string)[]>(80, 8080, 9000, 9001, '81', 'web', 'none', 0);
const handler = fc.oneof(
  fc.record({ httpGet: fc.record({ path: fc.constantFrom('/', 'x', '/a?b=c'), port }, { requiredKeys: ['port'] }) }),
  fc.record({ tcpSocket: fc.record({ port }) }),
  fc.record({ grpc: fc.record({ port: fc.constantFrom(80, 9001), service: fc.constantFrom('', 's') }) }),
  fc.constant({ exec: { command: ['x'] } }),
);
const probe = fc
  .tuple(handler, fc.record({ timeoutSeconds: fc.nat(3) }, { requiredKeys: [] }))
  .map(([of, more]) => ({ ...of, ...more }));
const container = fc.record(
  {
    name: fc.constantFrom('app', 'side'),
    ports: fc.constant([{ name: 'web', containerPort: 8080 }]),
    restartPolicy: fc.constant('Always'),
    livenessProbe: probe,
    readinessProbe: probe,
    startupProbe: probe,
  },
  { requiredKeys: ['name'] },
);
const pods = fc.record({
  metadata: fc.record({
    annotations: fc.record(
      {
        'kuma.io/application-probe-proxy-port': fc.constantFrom('0', '9001', '7'),
        'kuma.io/virtual-probes': fc.constantFrom('enabled', 'disabled', 'yes'),
        'kuma.io/virtual-probes-port': fc.constantFrom('9000', '9005'),
        'kuma.io/gateway': fc.constant('enabled'),
      },
      { requiredKeys: [] },
    ),
  }),
  spec: fc.record(
    { containers: fc.array(container), initContainers: fc.array(container) },
    { requiredKeys: ['containers'] },
  ),
});
const choices = fc.record({
  applicationProbeProxyPort: fc.constantFrom(0, 9001),
  virtualProbesEnabled: fc.boolean(),
  virtualProbesPort: fc.constant(9000),
});

it('a second rewriting changes nothing, and none changes its input', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(pods, choices, fc.boolean(), (pod, settings, native) => {
      const before = JSON.stringify(pod);
      const once = rewritePod(pod as unknown as JsonObject, options(settings, native));
      expect(JSON.stringify(pod)).toBe(before);
      seen.add(once.type === 'rewritten' ? `${once.type} ${once.probes.length > 0}` : once.type);
      if (once.type !== 'rewritten') return;
      expect(rewritePod(once.pod, options(settings, native)).type).toBe('unchanged');
    }),
    { numRuns: 3_000 },
  );
  // The cases are of every type that matters.
  expect(seen).toEqual(new Set(['rewritten true', 'rewritten false', 'refused', 'unchanged']));
});
