import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { PROGRAM } from './fleet-processes.ts';
import { hermeticGit } from './git-sandbox.ts';

/**
 * Puts the program `fleetrelay` into the folder `bin` of a home folder, as an installation does. Returns the environment of a
 * shell of that home: it finds the program on its PATH, and git reads no settings of this machine.
 */
export function installOnPath(home: string): Readonly<Record<string, string>> {
  const programs = join(home, 'bin');
  const path = join(programs, 'fleetrelay');
  mkdirSync(programs);
  writeFileSync(path, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  chmodSync(path, 0o755);
  return { ...hermeticGit, PATH: `${programs}${delimiter}${process.env.PATH ?? ''}`, HOME: home };
}
