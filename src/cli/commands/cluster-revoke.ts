import type { ClusterName } from '../../model/fleet/ids.ts';
import { given } from '../../model/values/given.ts';
import type { RevokedView } from '../../server/people-api.ts';
import { clusterName } from '../arguments.ts';
import type { CliCommand } from '../command.ts';

interface Flags {
  readonly serial?: string;
}

/** `fleetrelay cluster revoke NAME`. */
export function revokeCommand(command: CliCommand): void {
  command
    .summary('revoke client certificates of a cluster')
    .description(
      'Revokes all client certificates that were issued for a cluster until now, or the one with --serial. Streams that were opened with them end. The agent then enrols again, with a fresh token: nothing in its cluster is changed. Where its token may be known too, renew that first: fleetrelay cluster token NAME --renew.',
    )
    .argument('<name>', 'name of the cluster', clusterName)
    .option('--serial <hex>', 'only this one: certificate.serial of "cluster list -o json", or as openssl prints it')
    .option('--as <name>', 'who revokes it, for a server without configured people (default: your user name)')
    .examples([
      ['fleetrelay cluster revoke east', 'every certificate of "east" until now'],
      ['fleetrelay cluster revoke east --serial 3f9a01', 'one that was copied'],
    ]);
  command.asks(async (api, { serial }: Flags, name: ClusterName) => {
    const revoked = await api.act<RevokedView>(['clusters', name, 'revoke-certificates'], given({ serial }));
    const which =
      revoked.serial === null
        ? `every certificate of ${name} until now is revoked`
        : `the certificate ${revoked.serial} of ${name} is revoked`;
    return {
      value: { ...revoked },
      table: (out) =>
        out.write(
          `${which}; its agent enrols again with a fresh token: fleetrelay cluster token ${name} --data-dir DIR\n`,
        ),
    };
  });
}
