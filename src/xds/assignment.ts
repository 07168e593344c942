import { create, toBinary } from '@bufbuild/protobuf';
import { ClusterLoadAssignmentSchema } from '../../generated/envoy/config/endpoint/v3/endpoint_pb.ts';
import { WEIGHT } from '../engine/health/inbounds.ts';
import { sha256 } from '../model/digest.ts';
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

/** A ClusterLoadAssignment in its wire form. */
export interface Assignment {
  readonly bytes: Uint8Array;
  /** Equal bytes have equal versions, at every server. */
  readonly version: string;
}

/**
 * The endpoints of a service, in the order of its set and by zone. A host name is left out: Envoy would refuse the whole
 * resource.
 */
export function assignmentOf(service: string, set: readonly Member[]): Assignment {
  const members = set.filter(({ address }) => isIpAddress(address));
  const byZone = Map.groupBy(members, ({ zone }) => zone);
  const message = create(ClusterLoadAssignmentSchema, {
    clusterName: service,
    endpoints: [...byZone].map(([zone, those]) => ({
      ...(zone === '' ? {} : { locality: { zone } }),
      lbEndpoints: those.map(({ address, port }) => ({
        loadBalancingWeight: WEIGHT,
        hostIdentifier: {
          case: 'endpoint' as const,
          value: {
            address: {
              address: {
                case: 'socketAddress' as const,
                value: { address, portSpecifier: { case: 'portValue' as const, value: port } },
              },
            },
          },
        },
      })),
    })),
  });
  const bytes = toBinary(ClusterLoadAssignmentSchema, message);
  return { bytes, version: sha256(bytes).slice(0, 16) };
}
