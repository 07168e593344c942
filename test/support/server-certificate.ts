import { ensurePrivateFolder } from '../../src/adapters/tls/files.ts';
import { createOwnAuthority } from '../../src/adapters/tls/own-authority.ts';
import { ensureSigned, type ServerCertificate } from '../../src/adapters/tls/server-certificate.ts';

/** The server's certificate in a folder with the authority that signs it, both made on first use, as one server does. */
export async function ensureServerCertificate(
  dir: string,
  { names, ips }: { readonly names: readonly string[]; readonly ips: readonly string[] },
  now: number,
): Promise<ServerCertificate> {
  await ensurePrivateFolder(dir);
  const { authorities } = await createOwnAuthority(dir).refresh(now);
  return ensureSigned(dir, authorities, [...names, ...ips], now);
}
