import process from 'node:process';
import { findProgram, howToGet, type ProgramName } from '../../scripts/local/programs.ts';

/** For `skipIf` of suites and tests: whether one of the programs that they start is not here. */
export function noProgram(...names: readonly ProgramName[]): boolean {
  return names.some((name) => findProgram(name, process.env) === undefined);
}

/** The path of a program that a suite starts, after it has asked `noProgram`. */
export function programPath(name: ProgramName): string {
  const path = findProgram(name, process.env);
  if (path === undefined)
    throw new Error(`${name} is not here (${howToGet(name)}): the suite must ask noProgram('${name}')`);
  return path;
}
