import type { Answer } from '../../../api/answer.ts';
import type { Engine } from '../../../engine/graph.ts';
import { quote } from '../../../model/fleet/ids.ts';
import type { DeclaredDataplaneView, XdsAddressView } from '../api/dataplane-view.ts';
import { declaredDataplane } from './declared.ts';

/** A declared data plane, as its Envoy is started. `xds`: where Envoys connect; null: this server serves none. */
export function dataplaneView(
  { engine, ready }: { readonly engine: Engine; readonly ready: () => boolean },
  { mesh, name }: { readonly mesh: string; readonly name: string },
  xds: XdsAddressView | null,
): Answer<DeclaredDataplaneView> {
  // Before the sources are read, a missing declaration means nothing.
  if (!ready()) return { ok: false, kind: 'unavailable', message: 'the server is not ready yet' };
  const declared = declaredDataplane(engine, `${mesh}/${name}`);
  if (declared !== undefined) return { ok: true, value: { mesh, name, spec: declared.spec, xds } };
  return { ok: false, kind: 'notFound', message: `no data plane ${quote(`${mesh}/${name}`)} is declared` };
}
