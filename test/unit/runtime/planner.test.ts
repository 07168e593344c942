import { describe, expect, it } from 'vitest';
import { parseSourceName } from '../../../src/model/fleet/ids.ts';
import { defaultRevisionLimits } from '../../../src/model/limits/revision-limits.ts';
import { must } from '../../../src/model/values/result.ts';
import type { RefChanges, RefReading, RefRefusal, Source } from '../../../src/ports/source.ts';
import { type FinishedPlan, type PlanJob, planAbout } from '../../../src/runtime/plans/plan-job.ts';
import { createPlanner } from '../../../src/runtime/plans/planner.ts';
import type { CapturedState } from '../../../src/runtime/recording/capture.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const FINISHED: FinishedPlan = { json: '{}', markdown: '', summary: 'no change', hasChanges: false };
const never = new AbortController().signal;

const reading = (base: string): RefChanges => ({
  ...{ type: 'found', revision: 'new', base, changes: [], conflicts: ['apps/a.yaml'], tree: [] },
  reading: { limits: defaultRevisionLimits, maxFileBytes: 1, judgesSignatures: false },
  readBlob: async () => ({ type: 'missing' }),
  signaturesOf: async () => new Map(),
  read: async () => undefined,
});

/** A planner over sources that answer with these readings in turn, and a server that has admitted these revisions. */
function planner(given: {
  readonly readings: Readonly<Record<string, () => Promise<RefChanges | RefRefusal>>>;
  readonly admitted?: string;
  readonly evaluate?: (job: PlanJob) => Promise<FinishedPlan | RefRefusal>;
  readonly forks?: boolean;
  readonly suspended?: { readonly by: string; readonly at: number; readonly reason: string };
}) {
  const sources = Object.entries(given.readings).map(([name, read]) => {
    const source = { name: must(parseSourceName(name)), address: '', readRef: read } as unknown as Source;
    return { source } as never;
  });
  const revisions = Object.keys(given.readings).map((source) => ({ source, revision: given.admitted ?? 'old' }));
  return createPlanner({
    sources: {
      all: () => sources,
      get: (name) => sources.find(({ source }: { source: Source }) => source.name === name),
    },
    capture: {
      capture: async () => ({ header: { revisions }, entries: [] }) as unknown as CapturedState,
      texts: async function* () {},
    },
    evaluate: given.evaluate ?? (async () => FINISHED),
    locator: { find: async ({ path }) => ({ path }) },
    locate: async () => [],
    suspensions: { get: () => given.suspended },
    allowsForks: () => given.forks ?? false,
    clock: createVirtualClock(),
    log: silentLog,
  });
}

describe('a planner', () => {
  it('plans the ref of the only source, and of several the named one', async () => {
    const one = planner({ readings: { main: async () => reading('old') } });
    expect(await one.plan(undefined, 'feature', never)).toEqual({ ok: true, value: { ...FINISHED, commit: 'new' } });
    const two = planner({ readings: { main: async () => reading('old'), team: async () => reading('old') } });
    expect(await two.plan(undefined, 'feature', never)).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('main, team'),
    });
    expect(await two.plan('team', 'feature', never)).toMatchObject({ ok: true });
    expect(await two.plan('nosuch', 'feature', never)).toMatchObject({ kind: 'notFound' });
  });

  it.each([
    ['refs/pull/7/head', false],
    ['refs/merge-requests/7/head', false],
    ['0123456789012345678901234567890123456789', false],
    ['', false],
    ['x'.repeat(300), false],
    ['feature', true],
    ['refs/heads/feature', true],
  ])('takes %j as a ref of the repository itself: %s', async (ref, isTaken) => {
    const { plan } = planner({ readings: { main: async () => reading('old') } });
    expect((await plan('main', ref, never)).ok).toBe(isTaken);
  });

  it('plans refs of forks where the configuration allows them', async () => {
    const { plan } = planner({ readings: { main: async () => reading('old') }, forks: true });
    expect(await plan('main', 'refs/pull/7/head', never)).toMatchObject({ ok: true });
  });

  it('reads the ref again if another revision was admitted meanwhile, and gives up after a few times', async () => {
    let looks = 0;
    const moving = planner({ readings: { main: async () => reading(++looks < 3 ? 'older' : 'old') } });
    expect(await moving.plan('main', 'feature', never)).toMatchObject({ ok: true });
    expect(looks).toBe(3);
    const never3 = planner({ readings: { main: async () => reading('older') } });
    expect(await never3.plan('main', 'feature', never)).toMatchObject({ ok: false, kind: 'unavailable' });
  });

  it('says why a ref cannot be read', async () => {
    const refused: RefRefusal = {
      type: 'refused',
      reason: 'TooLarge',
      message: 'feature has 9 files, and 5 are allowed',
    };
    const { plan } = planner({ readings: { main: async () => refused } });
    expect(await plan('main', 'feature', never)).toEqual({
      ...{ ok: false, kind: 'conflict', message: 'TooLarge: feature has 9 files, and 5 are allowed' },
    });
  });

  it.each([
    ['Unreachable', 'unavailable'],
    ['TimedOut', 'unavailable'],
    ['NotRead', 'unavailable'],
    ['RefNotFound', 'notFound'],
    ['Unauthorized', 'conflict'],
  ])('a ref that is refused as %s is %s', async (reason, kind) => {
    const { plan } = planner({ readings: { main: async () => ({ type: 'refused', reason, message: 'why' }) } });
    expect(await plan('main', 'feature', never)).toMatchObject({ ok: false, kind });
  });

  it('plans one ref at a time, and refuses when too many of one source wait', async () => {
    const begun: string[] = [];
    const gates: (() => void)[] = [];
    const { plan } = planner({
      readings: { main: async () => reading('old'), team: async () => reading('old') },
      evaluate: ({ question }) => {
        begun.push(question.source);
        const { promise, resolve } = Promise.withResolvers<FinishedPlan>();
        gates.push(() => resolve(FINISHED));
        return promise;
      },
    });
    const waiting = Array.from({ length: 4 }, () => plan('main', 'feature', never));
    const other = plan('team', 'feature', never);
    expect(await plan('main', 'feature', never)).toMatchObject({ kind: 'unavailable', message: /under way/ });
    await new Promise(setImmediate);
    expect(begun).toEqual(['main']);
    for (let index = 0; index < 5; index += 1) {
      gates.shift()?.();
      await new Promise(setImmediate);
    }
    expect((await Promise.all([...waiting, other])).map(({ ok }) => ok)).toEqual([true, true, true, true, true]);
  });

  it('answers with the reason when the evaluation fails, and plans the next one', async () => {
    let fails = true;
    const { plan } = planner({
      readings: { main: async () => reading('old') },
      evaluate: async () => {
        if (fails) throw new Error('the process of the plan has ended (SIGKILL)');
        return FINISHED;
      },
    });
    expect(await plan('main', 'feature', never)).toMatchObject({ kind: 'unavailable', message: /SIGKILL/ });
    fails = false;
    expect(await plan('main', 'feature', never)).toMatchObject({ ok: true });
  });

  it('answers as for a ref that cannot be found if the revision is refused when it is read', async () => {
    const { plan } = planner({
      readings: { main: async () => reading('old') },
      evaluate: async () => ({ type: 'refused', reason: 'TooLarge', message: 'feature has too many steps' }),
    });
    expect(await plan('main', 'feature', never)).toEqual({
      ...{ ok: false, kind: 'conflict', message: 'TooLarge: feature has too many steps' },
    });
  });

  it('warns of what a person must accept first, of a suspended source, of files that both sides have changed, and of approvals', async () => {
    let asked: PlanJob | undefined;
    const { plan } = planner({
      readings: { main: async () => reading('old') },
      suspended: { by: 'anna', at: 0, reason: 'holidays' },
      evaluate: async (job) => {
        asked = job;
        return FINISHED;
      },
    });
    await plan('main', 'feature', never);
    const approval = { type: 'declaration', kind: 'RemovalApproval', key: 'x', namespace: '', name: 'x', value: {} };
    const documents = [{ identity: 'x', index: 0, content: approval }];
    const file = { readable: true, blob: '', findings: [], documents };
    const read: RefReading = {
      changes: [{ path: 'x.yaml', file: file as never }],
      mustBeAccepted: 'it holds no manifest any more',
      findings: [],
    };
    expect(planAbout((asked ?? expect.fail('it was asked')).question, read)).toMatchObject({
      warnings: [
        { reason: 'ChangedOnBothSides', message: expect.stringContaining('apps/a.yaml') },
        { reason: 'MustBeAccepted', message: expect.stringContaining('it holds no manifest any more') },
        { reason: 'Suspended', message: expect.stringContaining('suspended by anna') },
      ],
      notJudged: [expect.stringContaining('RemovalApprovals')],
    });
  });
});
