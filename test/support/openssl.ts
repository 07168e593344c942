import { spawnSync } from 'node:child_process';

/** True where there is no OpenSSL to make certificates and requests as others make them. */
export const noOpenssl = spawnSync('openssl', ['version'], { stdio: 'ignore' }).status !== 0;
