import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

const modes = '/usr/share/apertium/modes';

/** Whether Debian's packages apertium-apy and apertium-eng-spa are installed. */
export const hasApertium = [
  '/usr/bin/python3',
  '/usr/bin/setpriv',
  '/usr/bin/apertium-apy',
  `${modes}/eng-spa.mode`,
].every((file) => existsSync(file));

export type Apertium = { origin: string; stop(): Promise<void> };

// By default it listens on all interfaces, at a configured port.
const launcher = `
import sys
sys.argv = ['apertium-apy', '${modes}']
from tornado import tcpserver
bind_sockets = tcpserver.bind_sockets
def on_loopback(*_args, **_named):
    sockets = bind_sockets(0, '127.0.0.1')
    print(sockets[0].getsockname()[1], flush=True)
    return sockets
tcpserver.bind_sockets = on_loopback
from apertium_apy.apy import main
main()
`;

/** Apertium's web service for English and Spanish, for this machine only. */
export async function startApertium(): Promise<Apertium> {
  // The kernel kills it when its parent process ends for any reason.
  const child = spawn('/usr/bin/setpriv', ['--pdeathsig', 'KILL', '/usr/bin/python3', '-c', launcher], {
    cwd: '/',
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' },
    detached: true,
    ...unprivileged(),
  });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    // It takes no notice of SIGTERM, and neither do the pipelines that it starts.
    process.kill(-child.pid!, 'SIGKILL');
    await closed;
  };
  const lines = createInterface({ input: child.stdout });
  const port = await Promise.race([once(lines, 'line'), once(child, 'close').then(() => undefined)]);
  if (port === undefined) throw new Error('Apertium has not started');
  return { origin: `http://127.0.0.1:${port[0] as string}`, stop };
}

/** Apertium does not need root. */
function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(spawnSync('id', [flag, 'apertium'], { encoding: 'utf8' }).stdout);
  const [uid, gid] = [id('-u'), id('-g')];
  return uid > 0 && gid > 0 ? { uid, gid } : {};
}
