/** Runs one benchmark: `npm run bench -- NAME [--json]`. */
import process from 'node:process';
import { temporaryStateHome } from '../test/support/state-home.ts';

/** A benchmark; the arguments are those after its name. */
export interface Benchmark {
  run(args: readonly string[]): Promise<void>;
}

const benchmarks: Readonly<Record<string, () => Promise<Benchmark>>> = {
  agent: () => import('./kubernetes/agent.ts'),
  apply: () => import('./kubernetes/apply.ts'),
  care: () => import('./care/care.ts'),
  cli: () => import('./cli/cli.ts'),
  delta: () => import('./delta/delta.ts'),
  eds: () => import('./eds/eds.ts'),
  engine: () => import('./engine/engine.ts'),
  'first-contact': () => import('./first-contact/first-contact.ts'),
  git: () => import('./git/git.ts'),
  hds: () => import('./hds/hds.ts'),
  health: () => import('./health/health.ts'),
  hostile: () => import('./hostile/hostile.ts'),
  idle: () => import('./fleet/idle.ts'),
  plan: () => import('./plan/plan.ts'),
  'probe-proxy': () => import('./probes/probe-proxy.ts'),
  push: () => import('./push/push.ts'),
  render: () => import('./render/render.ts'),
  restart: () => import('./fleet/restart.ts'),
  status: () => import('./status/status.ts'),
  validate: () => import('./validate/validate.ts'),
  why: () => import('./why/why.ts'),
};

const [name = '', ...args] = process.argv.slice(2);
const load = Object.hasOwn(benchmarks, name) ? benchmarks[name] : undefined;
if (load === undefined) {
  const what = name === '' ? 'name a benchmark' : `there is no benchmark ${JSON.stringify(name)}`;
  process.stderr.write(`bench: ${what}; there are: ${Object.keys(benchmarks).sort().join(', ')}\n`);
  process.exitCode = 2;
} else {
  process.env.XDG_STATE_HOME = temporaryStateHome();
  await (await load()).run(args);
}
