import type { Engine } from '../../engine/graph.ts';
import type { FleetSettings } from '../../engine/inputs.ts';
import type { Loop } from '../loop.ts';

/** Stages whether this process judges removals. Commits. */
export function setRole(
  { engine, loop }: { readonly engine: Engine; readonly loop: Loop },
  role: FleetSettings['role'],
): void {
  loop.settle();
  const settings = engine.inputs.fleet.get('', '');
  if (settings !== undefined && settings.role !== role) {
    loop.transact(() => engine.inputs.fleet.set('', '', { ...settings, role }));
  }
  loop.settle();
}
