import type { Engine } from '../../engine/graph.ts';
import type { EngineDiagnostic } from '../../engine/status/diagnostic.ts';
import { engineDiagnostics } from '../../engine/status/diagnostics.ts';
import { type Diagnostic, diagnosticOf, displayLocation } from '../../model/diagnostic.ts';
import type { Locator } from './locator.ts';

/** What the engine has to say, with lines; about one source or all of them. Several places are named in the message. */
export async function locatedDiagnostics(
  engine: Engine,
  locator: Pick<Locator, 'find'>,
  source?: string,
): Promise<readonly Diagnostic[]> {
  const wanted = engineDiagnostics(engine).filter(
    ({ at }) => source === undefined || at.length === 0 || at[0]?.source === source,
  );
  return Promise.all(wanted.map((diagnostic) => locateOne(diagnostic, locator)));
}

async function locateOne(
  { severity, reason, message, at }: EngineDiagnostic,
  locator: Pick<Locator, 'find'>,
): Promise<Diagnostic> {
  const places = await Promise.all(at.map((ref) => locator.find(ref)));
  const [first] = places;
  const all = places.length < 2 ? message : `${message} (${places.map(displayLocation).join(' and ')})`;
  return diagnosticOf({ severity, reason, message: all, ...(first === undefined ? {} : { at: first }) });
}
