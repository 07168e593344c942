import type { Engine } from '../../engine/graph.ts';
import type { DeclaredDataplane } from '../../model/dataplane.ts';

/** What declares the data plane (`MESH/NAME`); undefined: nothing does. */
export function declaredDataplane(
  { health, declarations }: Pick<Engine, 'health' | 'declarations'>,
  key: string,
): DeclaredDataplane | undefined {
  const from = health?.declared.get('', key)?.from;
  return from?.type === 'declared' ? declarations.get('Dataplane', from.key)?.value : undefined;
}
