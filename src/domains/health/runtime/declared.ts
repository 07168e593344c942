import type { Engine } from '../../../engine/graph.ts';
import { health } from '../engine/health.ts';
import type { DeclaredDataplane } from '../model/dataplane.ts';

/** What declares the data plane (`MESH/NAME`); undefined: nothing does. */
export function declaredDataplane(
  { reported, declarations }: Pick<Engine, 'reported' | 'declarations'>,
  key: string,
): DeclaredDataplane | undefined {
  const from = reported(health)?.parts.declared.get('', key)?.from;
  return from?.type === 'declared' ? declarations.get('Dataplane', from.key)?.value : undefined;
}
