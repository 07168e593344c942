import type { DeclarationValues } from '../../../model/fleet/desired.ts';
import { mayConcern, notAllowed, type RightsRefusal, type SourceRights } from '../../../model/fleet/source-rights.ts';
import { matchesAnyName } from '../../../model/text/name-glob.ts';
import { serviceField, servicesOf } from '../model/dataplane.ts';

/** Why a source may not declare this data plane; undefined: it may. `key`: see `declarationKey`. */
export function refusedDataplane(
  rights: SourceRights,
  source: string,
  { dataplane }: DeclarationValues['Dataplane'],
  key: string,
): RightsRefusal | undefined {
  const { mesh } = dataplane;
  const { meshes, services } = rights;
  if (meshes !== undefined && !matchesAnyName(meshes, mesh)) {
    const hint = `write meshes: [${mesh}] under allow of source ${source}`;
    return { ...notAllowed(source, `declare data planes of mesh ${mesh}`, 'meshes', ['mesh']), hint };
  }
  const other = services && servicesOf(dataplane).find((service) => !matchesAnyName(services, service));
  if (other === undefined) return undefined;
  const field = serviceField(key, dataplane, other);
  const hint = `add ${other} to allow.services of source ${source}`;
  return { ...notAllowed(source, `declare endpoints of service ${other}`, 'services', field), hint };
}

/** Whether a source may declare an endpoint of a service that another source has. */
export function mayJoinService(rights: SourceRights | undefined, own: string, service: string, owner: string): boolean {
  // A pattern would name services of others before these declare them.
  const isNamed = !service.includes('*') && rights?.services?.includes(service) === true;
  return isNamed || mayConcern(rights, own, owner);
}

/** Why a source may not declare an endpoint of a service that another source has. */
export function notOfService(
  source: string,
  { mesh, service, owner }: { readonly mesh: string; readonly service: string; readonly owner: string },
): Pick<RightsRefusal, 'message' | 'hint'> {
  const message = `source ${source} may not join service ${service} of mesh ${mesh}, which source ${owner} has (allow.services of the source in the RelayConfig)`;
  return { message, hint: `write ${service} itself, without *, in allow.services of source ${source} to let it join` };
}
