import process from 'node:process';
import * as fc from 'fast-check';
import type { Graph } from '../../../src/engine/collections/types.ts';

/** How a law is tried. */
interface Trial {
  readonly numRuns: number;
  readonly seed?: number;
  /** Leads, with the seed, straight to the smallest counterexample. */
  readonly path?: string;
  /** Do not look for a smaller counterexample. */
  readonly endOnFailure?: boolean;
}

/** How a trial ended. */
interface Outcome {
  readonly failed: boolean;
  /** What replays it. */
  readonly replay: string;
  readonly report: string;
  readonly cause: unknown;
}

/** A law: holds for every graph that the given function makes, or a trial fails. */
export type Law = (create: () => Graph, trial: Trial) => Outcome;

/** The variable that replays a failure: the seed, or `seed:path`. */
const seedVariable = 'FLEETRELAY_LAW_SEED';

/** The variable that multiplies the number of random graphs, for a long run. */
const effortVariable = 'FLEETRELAY_LAW_EFFORT';

/** Makes a law of a property. */
export function lawOf<Values>(property: (create: () => Graph) => fc.IRawProperty<Values>): Law {
  return (create, trial) => {
    const details = fc.check(property(create), trial) as fc.RunDetails<Values>;
    const path = details.counterexamplePath === null ? '' : `:${details.counterexamplePath}`;
    return {
      failed: details.failed,
      replay: `${seedVariable}=${details.seed}${path}`,
      report: details.failed ? (fc.defaultReportMessage(details) ?? '') : '',
      cause: details.errorInstance,
    };
  };
}

/** Checks a law on random graphs; the error says how to replay it. */
export function checkLaw(law: Law, create: () => Graph, runs: number): void {
  const numRuns = runs * Number(process.env[effortVariable] ?? 1);
  const [seed, ...path] = (process.env[seedVariable] ?? '').split(':');
  const replay = seed === undefined || seed === '' ? {} : { seed: Number(seed) };
  const {
    failed,
    replay: again,
    report,
    cause,
  } = law(create, {
    numRuns,
    ...replay,
    ...(path.length === 0 ? {} : { path: path.join(':') }),
  });
  if (failed) throw new Error(`replay with ${again}\n${report}`, { cause });
}

/** Whether a law is seen to be broken; anything but a failed expectation is thrown on. */
export function isBroken(law: Law, create: () => Graph, numRuns: number): boolean {
  const { failed, cause } = law(create, { numRuns, endOnFailure: true });
  if (failed && !(cause instanceof Error && cause.name === 'AssertionError')) throw cause;
  return failed;
}
