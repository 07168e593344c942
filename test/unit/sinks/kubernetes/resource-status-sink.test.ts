import { describe, expect, it } from 'vitest';
import type { ConditionValue } from '../../../../src/model/fleet/conditions.ts';
import type { Log } from '../../../../src/ports/log.ts';
import { createResourceStatusSink } from '../../../../src/sinks/kubernetes/resource-status-sink.ts';
import type { StatusContent } from '../../../../src/sinks/kubernetes/status-content.ts';
import {
  conditionsIn,
  createFakeCustomResources,
  type FakeCustomResources,
  placementResource,
  shortName,
} from '../../../support/fake-custom-resources.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

const apps = 'fleetrelay.dev/Placement/fleet/apps';
const web = 'fleetrelay.dev/Placement/fleet/web';

const ready = (status: ConditionValue['status'], message = ''): ConditionValue => ({
  type: 'Ready',
  status,
  reason: status === 'True' ? 'Applied' : 'Progressing',
  message,
});

/** Events of a kind: it grows or shrinks. */
const bySize: Parameters<typeof createResourceStatusSink>[0]['events'] = (_key, before, { size }) => {
  if (before?.size === size || typeof size !== 'number') return [];
  const type = size < Number(before?.size ?? 0) ? 'Warning' : 'Normal';
  return [{ type, reason: 'Resized', message: `${size}` }];
};

function begin(fake: FakeCustomResources = createFakeCustomResources(), log: Log = silentLog, events?: typeof bySize) {
  const clock = createVirtualClock();
  let content: StatusContent | undefined = { conditions: [ready('True')], fields: { counts: { targeted: 1 } } };
  const sink = createResourceStatusSink({
    status: fake.status,
    subject: (key) => {
      const resource = fake.resources.state().objects.get(key);
      if (resource === undefined || content === undefined) return undefined;
      return { resource, generation: resource.generation, content };
    },
    mayWrite: () => content !== undefined,
    ownConditions: () => ['Ready', 'Stalled', 'Accepted', 'Connected'],
    ...(events && { events }),
    clock,
    random: { next: () => 1, id: () => '0' },
    log,
  });
  const changed = (): void => sink.changed(fake.resources.state().objects.keys());
  // As the source does after each look.
  fake.resources.start(() => changed());
  return {
    fake,
    sink,
    clock,
    changed,
    say: (next: StatusContent | undefined) => {
      content = next;
      changed();
    },
    later: () => clock.advance(2_000),
  };
}

describe('status of custom resources', () => {
  it('is written where it differs, and not again', async () => {
    const { fake, changed, later } = begin();
    fake.apply(placementResource('apps', ['apps/**']));
    await later();
    expect(fake.get(apps)?.status).toEqual({
      counts: { targeted: 1 },
      conditions: [{ ...ready('True'), lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 1 }],
    });
    changed();
    await later();
    expect(fake.writes.length).toBe(1);
  });

  it('keeps the time of a condition whose status has not changed, also over a restart', async () => {
    const { fake, say, later, sink } = begin();
    fake.apply(placementResource('apps', ['apps/**']));
    await later();
    say({ conditions: [ready('True', 'another message')], fields: {} });
    await later();
    expect(conditionsIn(fake.get(apps)?.status).Ready).toMatchObject({
      message: 'another message',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });
    await sink.stop();
    const again = begin(fake);
    again.say({ conditions: [ready('False')], fields: {} });
    await again.clock.advance(60_000);
    expect(conditionsIn(fake.get(apps)?.status).Ready).toMatchObject({
      status: 'False',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });
    again.say({ conditions: [ready('True')], fields: {} });
    await again.later();
    const { lastTransitionTime } = conditionsIn(fake.get(apps)?.status).Ready ?? {};
    expect(lastTransitionTime).toBe('2026-01-01T00:01:00Z');
  });

  it('leaves conditions of others, removes its own outdated ones, and restores those that others edit', async () => {
    const { fake, say, later } = begin();
    fake.apply(placementResource('apps', ['apps/**']));
    const theirs = { type: 'TheirOwn', status: 'True' };
    fake.putStatus(apps, { conditions: [theirs], theirs: 1 });
    say({ conditions: [ready('True'), { ...ready('True'), type: 'Stalled' }], fields: {} });
    await later();
    say({ conditions: [ready('True')], fields: {} });
    await later();
    const status = fake.get(apps)?.status;
    expect(Object.keys(conditionsIn(status)).sort()).toEqual(['Ready', 'TheirOwn']);
    expect(status?.theirs).toBe(1);
    fake.putStatus(apps, { ...status, conditions: [theirs] });
    await later();
    expect(conditionsIn(fake.get(apps)?.status).Ready?.status).toBe('True');
  });

  it('is written less and less often against a writer that keeps reversing it', async () => {
    const { fake, clock } = begin();
    fake.apply(placementResource('apps', ['apps/**']));
    let undoes = true;
    const write = fake.status.write;
    fake.status.write = async (target, status) => {
      const outcome = await write(target, status);
      if (undoes) fake.putStatus(apps, { conditions: [{ ...ready('False', 'theirs') }] });
      return outcome;
    };
    await clock.advance(60_000);
    expect(fake.writes.length).toBeGreaterThan(3);
    expect(fake.writes.length).toBeLessThan(8);
    await clock.advance(60 * 60_000);
    expect(fake.writes.length).toBeLessThan(40);
    undoes = false;
    await clock.advance(10 * 60_000);
    expect(conditionsIn(fake.get(apps)?.status).Ready?.status).toBe('True');
  });

  it('is not written twice while the watch has not reported the write', async () => {
    const fake = createFakeCustomResources();
    let writes = 0;
    fake.status.write = async () => {
      writes += 1;
      return { type: 'written', resourceVersion: '1000' };
    };
    const { say, later } = begin(fake);
    fake.apply(placementResource('apps', ['apps/**']));
    await later();
    say({ conditions: [ready('True')], fields: { counts: { targeted: 1 } } });
    await later();
    expect(writes).toBe(1);
    expect(fake.events.length).toBe(1);
  });

  it('is retried later and later for an object that cannot be written, without delay for others', async () => {
    const { fake, clock, changed } = begin();
    fake.answers.set(apps, { type: 'retry', reason: 'Unreachable', message: 'it is gone' });
    let tries = 0;
    const { write } = fake.status;
    fake.status.write = async (target, status) => {
      if (target.key === apps) tries += 1;
      return write(target, status);
    };
    fake.apply(placementResource('apps', ['apps/**']));
    fake.apply(placementResource('web', ['web/**']));
    for (let second = 0; second < 60; second += 1) {
      changed();
      await clock.advance(1_000);
    }
    expect(fake.writes.map(({ key }) => shortName(key))).toEqual(['Placement/web']);
    expect(tries).toBeGreaterThan(3);
    expect(tries).toBeLessThan(8);
    fake.answers.delete(apps);
    await clock.advance(120_000);
    expect(conditionsIn(fake.get(apps)?.status).Ready?.status).toBe('True');
    expect(conditionsIn(fake.get(web)?.status).Ready?.status).toBe('True');
  });

  it('is not written again after a refusal until it differs', async () => {
    const { fake, say, clock, changed } = begin();
    let tries = 0;
    fake.status.write = async () => {
      tries += 1;
      return { type: 'refused', reason: 'Invalid', message: 'no' };
    };
    fake.apply(placementResource('apps', ['apps/**']));
    for (let minute = 0; minute < 5; minute += 1) {
      changed();
      await clock.advance(60_000);
    }
    expect(tries).toBe(1);
    say({ conditions: [ready('False')], fields: {} });
    await clock.advance(60_000);
    expect(tries).toBe(2);
  });

  it('that a definition has no place for is told of by events of what is wrong, and logged once', async () => {
    const fake = createFakeCustomResources();
    const logged: unknown[] = [];
    const { say, later } = begin(fake, { ...silentLog, warn: (_message, data) => logged.push(data) });
    for (const name of ['apps', 'web']) {
      const { key } = fake.apply(placementResource(name, ['apps/**']));
      fake.answers.set(key, { type: 'refused', reason: 'NoStatusSubresource', message: 'there is none' });
    }
    const accepted = (message: string): ConditionValue => ({
      type: 'Accepted',
      status: 'False',
      reason: 'Invalid',
      message,
    });
    say({ conditions: [accepted('port 0')], fields: {} });
    await later();
    say({ conditions: [ready('True'), { ...accepted(''), status: 'True', reason: 'Accepted' }], fields: {} });
    await later();
    const event = { type: 'Warning', reason: 'Invalid', message: 'port 0' };
    expect(fake.events).toEqual([
      { key: apps, ...event },
      { key: web, ...event },
    ]);
    expect(logged).toEqual([{ object: apps, reason: 'NoStatusSubresource', detail: 'there is none' }]);
  });

  it('labels the object and removes annotations once, and leaves the others', async () => {
    const { fake, say, later, changed } = begin();
    const placement = placementResource('apps', ['apps/**']);
    const metadata = {
      name: 'apps',
      namespace: 'fleet',
      labels: { theirs: 'x' },
      annotations: { retry: 'y', keep: 'z' },
    };
    fake.apply({ ...placement, metadata });
    say({ conditions: [ready('True')], fields: {}, labels: { state: 'healthy' }, removeAnnotations: { retry: 'y' } });
    await later();
    changed();
    await later();
    expect(fake.get(apps)?.value.metadata).toEqual({
      name: 'apps',
      namespace: 'fleet',
      labels: { theirs: 'x', state: 'healthy' },
      annotations: { keep: 'z' },
    });
    expect(conditionsIn(fake.get(apps)?.status).Ready?.status).toBe('True');
    expect([fake.marks.length, fake.writes.length]).toEqual([1, 1]);
  });

  it('leaves an annotation that has another value than the one that was acted on', async () => {
    const { fake, say, later } = begin();
    const metadata = { name: 'apps', namespace: 'fleet', annotations: { retry: 'again' } };
    fake.apply({ ...placementResource('apps', ['apps/**']), metadata });
    say({ conditions: [ready('True')], fields: {}, removeAnnotations: { retry: 'once' } });
    await later();
    expect(fake.get(apps)?.value.metadata).toEqual(metadata);
    expect([fake.marks.length, fake.writes.length]).toEqual([0, 1]);
  });

  it('counts no change of the metadata alone as a reversal of the status', async () => {
    const { fake, say, later } = begin();
    const placement = placementResource('apps', ['apps/**']);
    const annotated = { ...placement, metadata: { name: 'apps', namespace: 'fleet', annotations: { retry: 'y' } } };
    say({ conditions: [ready('True')], fields: {}, removeAnnotations: { retry: 'y' } });
    for (let time = 0; time < 8; time += 1) {
      fake.apply(annotated);
      await later();
      expect([fake.marks.length, fake.writes.length]).toEqual([time + 1, 1]);
    }
    // So the first real reversal is repaired at once.
    fake.putStatus(apps, {});
    await later();
    expect(fake.writes.length).toBe(2);
  });

  it('counts no object as reversed that is from before the write', async () => {
    const fake = createFakeCustomResources();
    let writes = 0;
    fake.status.write = async () => {
      writes += 1;
      return { type: 'written', resourceVersion: '1000' };
    };
    const { later } = begin(fake);
    const placement = placementResource('apps', ['apps/**']);
    for (let time = 0; time < 8; time += 1) {
      const metadata = { name: 'apps', namespace: 'fleet', labels: { time: String(time) } };
      fake.apply({ ...placement, metadata });
      await later();
    }
    expect(writes).toBe(1);
  });

  it('writes conditions of Gardener by its rules, without a generation, and further lists of them', async () => {
    const { fake, say, later, clock } = begin();
    fake.apply(placementResource('apps', ['apps/**']));
    const api = (status: ConditionValue['status'], message: string, codes: readonly string[] = []): ConditionValue => ({
      ...{ type: 'APIServerAvailable', status, reason: 'Healthz', message, codes },
    });
    const speak = async (condition: ConditionValue) => {
      const constraint = { type: 'HibernationPossible', status: 'True', reason: 'No', message: '' } as const;
      say({ conditions: [condition], fields: {}, form: 'timed', conditionLists: { constraints: [constraint] } });
      await later();
      const { lastTransitionTime, lastUpdateTime, ...said } =
        conditionsIn(fake.get(apps)?.status).APIServerAvailable ?? {};
      return { said, times: [lastTransitionTime, lastUpdateTime].map((time) => String(time).slice(14, 19)) };
    };
    expect((await speak(api('True', 'ok'))).times).toEqual(['00:00', '00:00']);
    await clock.advance(60_000);
    const progressing = await speak(api('Progressing', 'ok'));
    expect(progressing.said).toEqual({
      type: 'APIServerAvailable',
      status: 'Progressing',
      reason: 'Healthz',
      message: 'ok',
    });
    expect(progressing.times).toEqual(['01:02', '00:00']);
    await clock.advance(58_000);
    const coded = await speak(api('Progressing', 'ok', ['ERR_QUOTA']));
    expect(coded.said.codes).toEqual(['ERR_QUOTA']);
    expect(coded.times).toEqual(['01:02', '02:02']);
    expect(fake.get(apps)?.status?.constraints).toEqual([
      {
        ...{ type: 'HibernationPossible', status: 'True', reason: 'No', message: '' },
        ...{ lastTransitionTime: '2026-01-01T00:00:00Z', lastUpdateTime: '2026-01-01T00:00:00Z' },
      },
    ]);
  });

  it('makes the events that a kind has, after events of conditions, once for each change', async () => {
    const { fake, say, changed, later } = begin(createFakeCustomResources(), silentLog, bySize);
    fake.apply(placementResource('apps', ['apps/**']));
    const told = () => fake.events.splice(0).map(({ type, reason, message }) => `${type} ${reason} ${message}`);
    say({ conditions: [{ ...ready('False', 'no'), type: 'Accepted', reason: 'Bad' }], fields: { size: 2 } });
    await later();
    expect(told()).toEqual(['Warning Bad no', 'Normal Resized 2']);
    changed();
    await later();
    expect(told()).toEqual([]);
    say({ conditions: [], fields: { size: 1 } });
    await later();
    expect(told()).toEqual(['Warning Resized 1']);
  });

  it('makes events of changes, and none at a restart', async () => {
    const { fake, say, later, sink } = begin();
    const accepted: ConditionValue = { type: 'Accepted', status: 'True', reason: 'Accepted', message: '' };
    const counts = (failed: number, held: number) => ({
      counts: { targeted: 3, applied: 3 - failed - held, failed, held },
    });
    const stalled: ConditionValue = { type: 'Stalled', status: 'True', reason: 'Failed', message: '1 failed: no' };
    const connected = (status: 'True' | 'False'): ConditionValue => ({
      type: 'Connected',
      status,
      reason: '',
      message: 'since then',
    });
    const told = () => fake.events.splice(0).map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
    say({ conditions: [accepted, ready('False')], fields: {} });
    fake.apply(placementResource('apps', ['apps/**']));
    await later();
    expect(told()).toEqual(['Normal Admitted: it counts as desired state']);
    say({ conditions: [accepted, ready('False'), stalled, connected('True')], fields: counts(1, 1) });
    await later();
    expect(told()).toEqual([
      'Normal AgentConnected: its agent is connected',
      'Warning ObjectsFailed: 1 failed: no',
      'Warning ObjectsHeld: 1 failed: no',
    ]);
    say({ conditions: [accepted, ready('True', '3 of 3 applied'), connected('False')], fields: counts(0, 0) });
    await later();
    expect(told()).toEqual(['Warning AgentDisconnected: since then', 'Normal Applied: 3 of 3 applied']);
    await sink.stop();
    const again = begin(fake);
    again.say({ conditions: [accepted, ready('True', '3 of 3 applied'), connected('False')], fields: counts(0, 0) });
    await again.later();
    expect(told()).toEqual([]);
  });

  it('is not written while there is no content, nor after the end', async () => {
    const { fake, say, sink, changed, later, clock } = begin();
    say(undefined);
    fake.apply(placementResource('apps', ['apps/**']));
    await later();
    expect(fake.writes).toEqual([]);
    changed();
    await sink.stop();
    changed();
    await later();
    expect(clock.waiting()).toBe(0);
  });
});
