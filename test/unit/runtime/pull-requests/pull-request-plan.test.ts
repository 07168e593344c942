import { describe, expect, test } from 'vitest';
import { parseFleetName, parseSourceName } from '../../../../src/model/fleet/ids.ts';
import { must } from '../../../../src/model/values/result.ts';
import type { PullRequest, ReviewFailure, ReviewHost, ReviewOutcome } from '../../../../src/ports/review-host.ts';
import {
  createPullRequestPlan,
  type PlanOutcome,
  type PullRequestPlanOptions,
} from '../../../../src/runtime/pull-requests/pull-request-plan.ts';
import { recordingLog } from '../../../support/running-server.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

const COMMIT = 'a'.repeat(40);
const NEWER = 'b'.repeat(40);
const OPEN: PullRequest = { open: true, base: 'main', branch: 'topic', commit: COMMIT, fork: false };
const PLAN: PlanOutcome = { ok: true, commit: COMMIT, summary: '2 objects change', markdown: '# Plan\n' };
const OPTIONS: PullRequestPlanOptions = {
  ...{ fleet: must(parseFleetName('prod')), source: must(parseSourceName('main')), branch: 'main' },
  ...{ host: 'github', comment: true, status: true, forks: false },
};
const never = new AbortController().signal;
const done: ReviewOutcome = { type: 'done', value: undefined };
const failure = (reason: ReviewFailure['reason'], retryAfterSeconds?: number): ReviewFailure => ({
  ...{ type: 'failed', reason, message: `the host says ${reason}` },
  ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
});

interface Scene {
  readonly pullRequest?: PullRequest;
  readonly plan?: PlanOutcome | (() => Promise<PlanOutcome>);
  readonly options?: Partial<PullRequestPlanOptions>;
  /** Outcomes of the next calls of a method, before it succeeds. */
  readonly outcomes?: Partial<Record<keyof ReviewHost, ReviewFailure[]>>;
  readonly signal?: AbortSignal;
}

async function play({ pullRequest = OPEN, plan = PLAN, options = {}, outcomes = {}, signal = never }: Scene) {
  const clock = createVirtualClock();
  const log = recordingLog();
  const calls: string[] = [];
  const next = (method: keyof ReviewHost): ReviewOutcome => outcomes[method]?.shift() ?? done;
  const host: ReviewHost = {
    read: async () => {
      const outcome = next('read');
      return outcome.type === 'failed' ? outcome : { type: 'done', value: pullRequest };
    },
    comment: async ({ pullRequest: number, marker, body }) => {
      calls.push(`comment ${number} ${marker} ${body}`);
      return next('comment');
    },
    setStatus: async ({ commit, ref, state, context, description }) => {
      calls.push(`status ${commit.slice(0, 1)} ${ref} ${state} ${context}: ${description}`);
      return next('setStatus');
    },
  };
  const work = createPullRequestPlan(
    {
      ...{ clock, log, host, mayBegin: async () => undefined },
      plan: async (source, ref) => {
        calls.push(`plan ${source} ${ref}`);
        return typeof plan === 'function' ? plan() : plan;
      },
    },
    { ...OPTIONS, ...options },
  );
  const ending = work(7, signal);
  await clock.advance(7_200_000);
  return { outcome: await ending, calls, log: log.lines.join('\n') };
}

const MARKER = '<!-- fleetrelay:prod/main -->';
const PENDING = 'status a refs/heads/topic pending fleetrelay/prod/main: the plan is being made';

test('the status is pending, then the plan is a comment and the status success', async () => {
  expect(await play({})).toMatchObject({
    outcome: 'planned',
    calls: [
      PENDING,
      'plan main refs/heads/topic',
      `comment 7 ${MARKER} # Plan\n`,
      'status a refs/heads/topic success fleetrelay/prod/main: 2 objects change',
    ],
  });
});

test.each([
  ['comment', { status: false }, ['plan', 'comment']],
  ['status', { comment: false }, ['status', 'plan', 'status']],
] as const)('only the %s is written where only that is configured', async (_, options, kinds) => {
  const { calls } = await play({ options });
  expect(calls.map((call) => call.split(' ')[0])).toEqual(kinds);
});

describe('nothing is planned or shown', () => {
  test.each([
    ['of a closed pull request', { open: false }],
    ['of one for another branch', { base: 'release' }],
    ['of a fork', { fork: true }],
  ])('%s', async (_, changed) => {
    expect(await play({ pullRequest: { ...OPEN, ...changed } })).toMatchObject({ outcome: 'skipped', calls: [] });
  });
});

test.each([
  ['github', 'refs/pull/7/head'],
  ['gitea', 'refs/pull/7/head'],
  ['gitlab', 'refs/merge-requests/7/head'],
] as const)('where forks are allowed, %s has their commits under %s', async (host, ref) => {
  const { calls, outcome } = await play({ pullRequest: { ...OPEN, fork: true }, options: { host, forks: true } });
  expect([outcome, calls[1]]).toEqual(['planned', `plan main ${ref}`]);
});

test('what cannot be planned is shown as an error, with a text that ends no code block', async () => {
  const message = 'NotReadable: a file\n```\n@everyone <script>';
  const { outcome, calls, log } = await play({ plan: { ok: false, unavailable: false, message } });
  expect(outcome).toBe('refused');
  expect(calls.slice(2)).toEqual([
    `comment 7 ${MARKER} **fleetrelay cannot plan aaaaaaaaaaaa.**\n\n\`\`\`\`\n${message}\n\`\`\`\`\n`,
    `status a refs/heads/topic error fleetrelay/prod/main: ${message}`,
  ]);
  expect(log).toContain('a pull request cannot be planned');
});

test('a defect is in the log, and only a sentence at the host', async () => {
  const { outcome, calls, log } = await play({ plan: () => Promise.reject(new Error('at internal.ts:3')) });
  expect(outcome).toBe('refused');
  expect(calls.join()).toContain('the plan has failed; the log of the server says why');
  expect(calls.join()).not.toContain('internal.ts');
  expect(log).toContain('the plan of a pull request has failed');
});

test('a plan of a newer commit has its own status, and the commit before it none that waits', async () => {
  const { calls } = await play({ plan: { ...PLAN, commit: NEWER } });
  expect(calls.filter((call) => call.startsWith('status'))).toEqual([
    PENDING,
    `status a refs/heads/topic error fleetrelay/prod/main: not planned: the branch is at ${NEWER} now`,
    'status b refs/heads/topic success fleetrelay/prod/main: 2 objects change',
  ]);
});

test('a comment that the host refuses turns the status into an error', async () => {
  const { outcome, calls, log } = await play({ outcomes: { comment: [failure('Unauthorized')] } });
  expect(outcome).toBe('failed');
  expect(calls.at(-1)).toMatch(/ error .*the plan cannot be written into a comment: the host says Unauthorized$/);
  expect(log).toContain('Unauthorized');
});

test('a host that is away or wants fewer requests is asked again, a few times', async () => {
  const read = [failure('Unreachable'), failure('RateLimited', 600), failure('Unreachable')];
  expect((await play({ outcomes: { read } })).outcome).toBe('planned');
  const endless = Array.from({ length: 9 }, () => failure('Unreachable'));
  const { outcome, calls } = await play({ outcomes: { read: endless } });
  expect([outcome, calls, endless.length]).toEqual(['failed', [], 1]);
});

test.each(['Unauthorized', 'NotFound', 'Refused'] as const)(
  'a host that says %s is not asked again',
  async (reason) => {
    const read = [failure(reason), failure(reason)];
    expect(await play({ outcomes: { read } })).toMatchObject({ outcome: 'failed', calls: [] });
    expect(read).toHaveLength(1);
  },
);

test('a planner that is busy is asked again', async () => {
  const busy: PlanOutcome = { ok: false, unavailable: true, message: 'ask again later' };
  const outcomes = [busy, busy];
  const { outcome } = await play({ plan: async () => outcomes.shift() ?? PLAN });
  expect(outcome).toBe('planned');
});

test('work that is called off shows no plan', async () => {
  const stopping = new AbortController();
  const plan = async (): Promise<PlanOutcome> => {
    stopping.abort();
    return PLAN;
  };
  const { outcome, calls } = await play({ plan, signal: stopping.signal });
  expect(outcome).toBe('superseded');
  expect(calls).toEqual([PENDING, 'plan main refs/heads/topic']);
});
