import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadCatalog } from '../../../src/adapters/kubernetes/api/catalog.ts';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { must } from '../../../src/model/values/result.ts';
import { until } from '../../support/fleet-processes.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { createHarness, createHurriedClock, type Harness } from './harness.ts';
import type { Recorder } from './recorder.ts';

const clock = createSystemClock();

describe.skipIf(noProgram('kube-apiserver'))('a real API server', () => {
  let plane: ControlPlane;
  let harness: Harness;
  let client: KubeClient;
  let namespace: string;
  let count = 0;

  beforeAll(async () => {
    plane = await startControlPlane({ users: { limited: [] } });
  });
  afterAll(() => plane?.stop());
  beforeEach(async () => {
    harness = createHarness();
    client = await harness.connect(plane.kubeconfig(), clock);
    count += 1;
    namespace = `test-${count}`;
    await plane.kubectl(['create', 'namespace', namespace]);
  });
  afterEach(async () => {
    // What comes next shall not suffer from a test that failed while it was suspended.
    plane?.signalApiServer('SIGCONT');
    await harness.end();
  });

  const path = (name: string) => `/api/v1/namespaces/${namespace}/configmaps/${name}`;
  async function put(name: string, data: Record<string, string> = {}): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
    const query = { fieldManager: 'test', force: 'true' };
    const contentType = 'application/apply-patch+yaml';
    const answer = await client.request({ method: 'PATCH', path: path(name), query, contentType, body });
    expect(answer).toMatchObject({ type: 'ok' });
  }
  async function remove(name: string): Promise<void> {
    expect(await client.request({ method: 'DELETE', path: path(name) })).toMatchObject({ type: 'ok' });
  }
  const names = (recorder: Recorder) => [...recorder.objects.keys()].map((key) => key.split('/')[1]).sort();
  const complete = (recorder: Recorder) => until('complete', () => recorder.states.at(-1) === 'complete');
  /** What the follower reports of a client whose requests pass through here. */
  function refusingStreams(inner: KubeClient): KubeClient {
    return {
      ...inner,
      watch: (request, event) => {
        const { sendInitialEvents, ...rest } = request.query;
        if (sendInitialEvents === undefined) return inner.watch(request, event);
        // Not allowed without sendInitialEvents, as a server answers that does not know it.
        return inner.watch({ ...request, query: { ...rest, resourceVersionMatch: 'Nonsense' } }, event);
      },
    };
  }

  it.each(['as a stream', 'in pages'])('lists more than 500 objects %s and follows them', async (how) => {
    await Promise.all(
      Array.from({ length: 16 }, async (_, lane) => {
        for (let index = lane; index < 620; index += 16) await put(`c${index}`);
      }),
    );
    const pages: string[] = [];
    const counted: KubeClient = {
      ...client,
      request: (request) => {
        if (request.query?.limit !== undefined) pages.push(request.query.limit);
        return client.request(request);
      },
    };
    const recorder = harness.follow(how === 'in pages' ? refusingStreams(counted) : counted, { namespace }, clock);
    await complete(recorder);
    expect(recorder.objects.size).toBe(620);
    expect(pages).toEqual(how === 'in pages' ? ['500', '500'] : []);
    await put('late', { x: 'y' });
    await remove('c7');
    await until('the changes have arrived', () => recorder.objects.size === 620 && names(recorder).includes('late'));
    expect(names(recorder)).not.toContain('c7');
    expect(recorder.lists()).toBe(1);
    for (const object of recorder.objects.values())
      expect(object).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
  });

  it('ends a list in pages whose place is compacted away; it begins anew and is complete', async () => {
    for (let index = 0; index < 6; index += 1) await put(`c${index}`);
    let compacted = false;
    const disturbed: KubeClient = {
      ...refusingStreams(client),
      request: async (request) => {
        if (request.query?.continue !== undefined && !compacted) {
          compacted = true;
          await put('c9');
          await remove('c0');
          await plane.compact();
          // Otherwise its cache still has what etcd no longer knows.
          await plane.killApiServer();
          await plane.startApiServer();
        }
        return await client.request(request);
      },
    };
    const recorder = harness.follow(disturbed, { namespace, pageSize: 2 }, clock);
    await complete(recorder);
    expect(recorder.calls).toContain('listFailed');
    expect(names(recorder)).toEqual(['c1', 'c2', 'c3', 'c4', 'c5', 'c9']);
  });

  it('goes on at the last version when a watch ends, without a list', async () => {
    await put('a');
    let watches = 0;
    const counted: KubeClient = {
      ...client,
      watch: (request, event) => {
        watches += 1;
        return client.watch(request, event);
      },
    };
    const recorder = harness.follow(counted, { namespace, watchSeconds: [1, 1] }, clock);
    await complete(recorder);
    for (let index = 0; watches < 3; index += 1) await put('a', { index: String(index) });
    await put('b');
    await until('b is there', () => names(recorder).join() === 'a,b');
    expect(recorder.lists()).toBe(1);
    expect(recorder.states).toEqual(['complete']);
  });

  it('loses and invents nothing when it was away for so long that etcd was compacted', async () => {
    await put('a');
    await put('b');
    let away: Promise<void> | undefined;
    let reconnect: (() => void) | undefined;
    const interrupted: KubeClient = {
      ...client,
      watch: async (request, event) => {
        await away;
        const ending = new AbortController();
        reconnect = () => ending.abort();
        const end = await client.watch({ ...request, signal: AbortSignal.any([request.signal, ending.signal]) }, event);
        return request.signal.aborted ? end : { type: 'broken', message: 'cut by the test' };
      },
    };
    const recorder = harness.follow(interrupted, { namespace }, createHurriedClock(10));
    await complete(recorder);
    const before = recorder.lists();
    let comeBack: () => void = () => undefined;
    away = new Promise((resolve) => {
      comeBack = resolve;
    });
    reconnect?.();
    await remove('a');
    await put('c');
    await plane.killApiServer();
    await plane.compact();
    await plane.startApiServer();
    await put('d');
    await plane.compact();
    comeBack();
    away = undefined;
    await until('all is as it should be', () => names(recorder).join() === 'b,c,d');
    expect(recorder.lists()).toBeGreaterThan(before);
    const others = recorder.calls.filter(
      (call) => call.endsWith(`${namespace}/a`) || call.endsWith('kube-root-ca.crt'),
    );
    expect(others).toEqual([`+${namespace}/a`, `gone ${namespace}/a`]);
  });

  it('bears an API server that is killed and one that is suspended', async () => {
    await put('a');
    const recorder = harness.follow(client, { namespace }, createHurriedClock(5));
    const impatient = await harness.connect(plane.kubeconfig(), createHurriedClock(15));
    const watching = harness.follow(impatient, { namespace, watchSeconds: [5, 5] }, createHurriedClock(15));
    await complete(recorder);
    await complete(watching);
    await plane.killApiServer();
    expect(await client.request({ method: 'GET', path: path('a') })).toMatchObject({ type: 'unreachable' });
    await plane.startApiServer();
    await put('b');
    await until('b is there', () => names(recorder).join() === 'a,b' && names(watching).join() === 'a,b');
    plane.signalApiServer('SIGSTOP');
    // Its threads stop one after the other: one of them may still answer what comes at once.
    const silent = await until('it no longer answers', async () => {
      const answer = await client.request({ method: 'GET', path: path('a'), timeoutMs: 500 });
      return answer.type === 'ok' ? undefined : answer;
    });
    expect(silent).toEqual({ type: 'unreachable', message: 'no answer within 500 ms' });
    // A minute of the hurried clock: both what waits for events and what asks anew have noticed.
    await until('it is unknown', () => watching.states.at(-1)?.startsWith('unknown: ') === true);
    expect(names(watching)).toEqual(['a', 'b']);
    plane.signalApiServer('SIGCONT');
    await complete(watching);
    await put('c');
    await until('c is there', () => names(recorder).join() === 'a,b,c' && names(watching).join() === 'a,b,c');
  });

  it('makes a kind unknown that may no longer be listed, and complete when it may again', async () => {
    await put('a');
    const grant = (kind: string, resource: string) =>
      plane.kubectl(['-n', namespace, 'create', 'role', kind, '--verb=list,watch', `--resource=${resource}`]);
    const bind = (kind: string) =>
      plane.kubectl(['-n', namespace, 'create', 'rolebinding', kind, `--role=${kind}`, '--user=limited']);
    await grant('maps', 'configmaps');
    await grant('secrets', 'secrets');
    await bind('maps');
    await bind('secrets');
    const limited = await harness.connect(plane.kubeconfig('limited'), clock);
    const hurried = createHurriedClock(10);
    const maps = harness.follow(limited, { namespace, watchSeconds: [2, 2] }, hurried);
    const SECRETS = { group: '', version: 'v1', kind: 'Secret', resource: 'secrets', namespaced: true };
    const resource = { ...SECRETS, verbs: [], subresources: [] };
    const secrets = harness.follow(limited, { namespace, resource, watchSeconds: [2, 2] }, hurried);
    await complete(maps);
    await complete(secrets);
    await plane.kubectl(['-n', namespace, 'delete', 'rolebinding', 'maps']);
    await until('unknown', () => maps.states.at(-1)?.startsWith('unknown: ') === true);
    expect(maps.states.at(-1)).toMatch(/configmaps is forbidden: User "limited" cannot (list|watch)/);
    expect(names(maps)).toEqual(['a']);
    expect(secrets.states).toEqual(['complete']);
    await remove('a');
    await put('b');
    await bind('maps');
    await complete(maps);
    expect(names(maps)).toEqual(['b']);
  });

  it('has kinds that come and go, and an aggregated API that is down is unreadable, not gone', async () => {
    const crd = readCrd();
    const before = must(await loadCatalog(client));
    expect(before.find('apps', 'Deployment')).toMatchObject({
      version: 'v1',
      resource: 'deployments',
      namespaced: true,
    });
    expect(before.find('', 'Namespace')).toMatchObject({ namespaced: false });
    expect(before.find('', 'Pod')?.subresources).toContain('status');
    expect(before.find('test.example', 'Gadget')).toBeUndefined();
    await plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(crd) });
    const find = async () => must(await loadCatalog(client, before)).find('test.example', 'Gadget');
    const gadgets = (await until('the kind is offered', find))!;
    const recorder = harness.follow(client, { resource: gadgets }, createHurriedClock(10));
    await complete(recorder);
    const gadget = { apiVersion: 'test.example/v1', kind: 'Gadget', metadata: { name: 'g', namespace } };
    await plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(gadget) });
    await until('it is there', () => recorder.objects.size === 1);
    await plane.kubectl(['delete', 'crd', 'gadgets.test.example', '--wait=false']);
    await until('the kind is gone from the catalog', async () => (await find()) === undefined);
    await until('the kind is unknown', () => recorder.states.at(-1)?.startsWith('unknown: ') === true);
    await plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(crd) });
    await complete(recorder);
    expect(recorder.objects.size).toBe(0);
    await plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(apiService()) });
    const after = await until('a group is unreadable', async () => {
      const catalog = must(await loadCatalog(client, before));
      return catalog.unreadableGroups.has('down.example') && catalog;
    });
    expect(after.find('apps', 'Deployment')).toEqual(before.find('apps', 'Deployment'));
    await plane.kubectl(['delete', 'apiservice', 'v1.down.example']);
  });

  it('runs sixteen requests at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, index) => client.request({ method: 'GET', path: path(`none-${index}`) })),
    );
    expect(answers.every((answer) => answer.type === 'refused' && answer.status === 404)).toBe(true);
  });

  it('is not believed without its authority', async () => {
    const text = readFileSync(plane.kubeconfig(), 'utf8').replace(/"certificate-authority-data":"[^"]*"/, '"x":1');
    const other = `${plane.folder}/no-authority`;
    writeFileSync(other, text);
    const connected = await harness.connect(other, clock);
    const answer = await connected.request({ method: 'GET', path: '/version' });
    expect(answer).toMatchObject({ type: 'unreachable', message: expect.stringMatching(/not from the authority/) });
  });
});

function readCrd(): object {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'gadgets.test.example' },
    spec: {
      group: 'test.example',
      scope: 'Namespaced',
      names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
}

/** An aggregated API whose Service does not exist. */
function apiService(): object {
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: 'v1.down.example' },
    spec: {
      group: 'down.example',
      version: 'v1',
      groupPriorityMinimum: 1000,
      versionPriority: 10,
      insecureSkipTLSVerify: true,
      service: { name: 'missing', namespace: 'default' },
    },
  };
}
