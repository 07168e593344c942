import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/**
 * Makes a folder for `XDG_STATE_HOME`, in which servers leave the tokens of their APIs, so that tests write nothing into
 * the home of the person who runs them. It is removed when this process ends.
 */
export function temporaryStateHome(): string {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-state-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
