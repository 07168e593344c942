import { create, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import {
  ClusterLoadAssignmentSchema,
  LocalityLbEndpointsSchema,
} from '../../../../generated/envoy/config/endpoint/v3/endpoint_pb.ts';
import { DiscoveryResponseSchema } from '../../../../generated/envoy/service/discovery/v3/discovery_pb.ts';
import { sha256 } from '../../../model/text/digest.ts';
import type { Resource } from '../../../xds/ads.ts';
import { WEIGHT } from '../engine/inbounds.ts';
import { isIpAddress } from './ip.ts';

/** The type of the resources of EDS. */
export const ENDPOINT_TYPE = `type.googleapis.com/${ClusterLoadAssignmentSchema.typeName}`;

/** A member of a load-balancing set. */
export interface Member {
  readonly address: string;
  readonly port: number;
  /** Empty: not known. */
  readonly zone: string;
}

/** Returns what makes ClusterLoadAssignments. The wire form of a member is made once, as long as the member is the same object. */
export function createAssignmentEncoder(): (service: string, set: readonly Member[]) => Resource {
  const encoded = new WeakMap<Member, readonly Uint8Array[]>();
  /** Empty: its address is a host name. */
  const endpointsOf = (member: Member): readonly Uint8Array[] => {
    const known = encoded.get(member);
    if (known !== undefined) return known;
    const made = isIpAddress(member.address) ? [encodeEndpoint(member)] : [];
    encoded.set(member, made);
    return made;
  };
  /**
   * The endpoints of a service, in the order of its set and by zone. A host name is left out: Envoy would refuse the whole
   * resource.
   */
  return (service, set) => {
    const reached = set.filter((member) => endpointsOf(member).length > 0);
    const byZone = Map.groupBy(reached, ({ zone }) => zone);
    // Messages that are appended to each other are one message.
    const value = Buffer.concat([
      toBinary(ClusterLoadAssignmentSchema, create(ClusterLoadAssignmentSchema, { clusterName: service })),
      ...[...byZone].map(([zone, members]) => encodeLocality(zone, members.flatMap(endpointsOf))),
    ]);
    const version = sha256(value).slice(0, 16);
    const about = create(DiscoveryResponseSchema, { versionInfo: version, typeUrl: ENDPOINT_TYPE, nonce: version });
    const resources = create(DiscoveryResponseSchema, { resources: [{ typeUrl: ENDPOINT_TYPE, value }] });
    const head = toBinary(DiscoveryResponseSchema, about);
    const response = Buffer.concat([head, toBinary(DiscoveryResponseSchema, resources)]);
    return { resource: response.subarray(head.length), version, response };
  };
}

/** A member of ClusterLoadAssignment.endpoints. */
function encodeLocality(zone: string, endpoints: readonly Uint8Array[]): Uint8Array {
  const locality = create(LocalityLbEndpointsSchema, zone === '' ? {} : { locality: { zone } });
  const value = Buffer.concat([toBinary(LocalityLbEndpointsSchema, locality), ...endpoints]);
  const { number } = ClusterLoadAssignmentSchema.field.endpoints;
  return new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(value).finish();
}

/** A LocalityLbEndpoints that has this endpoint alone. */
function encodeEndpoint({ address, port }: Member): Uint8Array {
  const socket = { address, portSpecifier: { case: 'portValue' as const, value: port } };
  const endpoint = { address: { address: { case: 'socketAddress' as const, value: socket } } };
  const hostIdentifier = { case: 'endpoint' as const, value: endpoint };
  const lbEndpoints = [{ loadBalancingWeight: WEIGHT, hostIdentifier }];
  return toBinary(LocalityLbEndpointsSchema, create(LocalityLbEndpointsSchema, { lbEndpoints }));
}
