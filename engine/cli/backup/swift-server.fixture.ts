/**
 * OpenStack Swift with its S3 interface (Debian: swift-proxy, swift-account, swift-container, swift-object) as a server
 * of the tests: one process, one replica, below a directory of its own.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { S3Settings } from '../../real/s3/s3-settings.ts';

/** Why the server cannot run here; undefined if it can. */
export const swiftMissing = ['proxy', 'account', 'container', 'object'].every((kind) =>
  existsSync(`/usr/bin/swift-${kind}-server`),
)
  ? undefined
  : 'OpenStack Swift is not installed (apt-get install swift-proxy swift-account swift-container swift-object)';

/** Makes rings and configurations below a directory, and serves all four parts from one interpreter. */
const program = `
import os, sys
root, ports = sys.argv[1], [int(port) for port in sys.argv[2].split(',')]
import eventlet
eventlet.monkey_patch()
from eventlet import wsgi
import swift.common.utils as utils
from swift.common.ring import RingBuilder
os.makedirs(root + '/srv/d1')
def write(name, text):
    with open(os.path.join(root, name), 'w') as file: file.write(text)
write('swift.conf', '[swift-hash]\\nswift_hash_path_suffix = x\\n[storage-policy:0]\\nname = p0\\ndefault = yes\\n')
utils.SWIFT_CONF_FILE = root + '/swift.conf'
import swift.common.storage_policy as policies
policies.reload_storage_policies()
kinds = ['proxy', 'account', 'container', 'object']
common = '[DEFAULT]\\nbind_ip = 127.0.0.1\\nworkers = 0\\nswift_dir = %s\\ndevices = %s/srv\\nmount_check = false\\nfallocate_reserve = 0\\nbind_port = %d\\n'
for kind, port in zip(kinds[1:], ports[1:]):
    ring = RingBuilder(4, 1, 0)
    ring.add_dev({'region': 1, 'zone': 1, 'ip': '127.0.0.1', 'port': port, 'replication_ip': '127.0.0.1', 'replication_port': port, 'device': 'd1', 'weight': 1.0})
    ring.rebalance()
    ring.get_ring().save(os.path.join(root, kind + '.ring.gz'))
    write(kind + '.conf', common % (root, root, port) + '[pipeline:main]\\npipeline = %s-server\\n[app:%s-server]\\nuse = egg:swift#%s\\n' % (kind, kind, kind))
filters = 'catch_errors cache s3api tempauth copy slo'
write('proxy.conf', common % (root, root, ports[0]) + '[pipeline:main]\\npipeline = ' + filters + ' proxy-server\\n'
    + '[app:proxy-server]\\nuse = egg:swift#proxy\\naccount_autocreate = true\\n'
    + '[filter:tempauth]\\nuse = egg:swift#tempauth\\nuser_test_tester = testing .admin\\n'
    + '[filter:s3api]\\nuse = egg:swift#s3api\\nlocation = eu-test-1\\nmin_segment_size = 1\\n'
    + '[filter:cache]\\nuse = egg:swift#memcache\\nmemcache_servers = 127.0.0.1:1\\n'
    + ''.join('[filter:%s]\\nuse = egg:swift#%s\\n' % (name, name) for name in ['catch_errors', 'copy', 'slo']))
from swift.common.wsgi import loadapp, SwiftHttpProtocol
class Quiet:
    def write(self, *words): pass
    def flush(self): pass
for kind, port in zip(kinds, ports):
    app = loadapp(os.path.join(root, kind + '.conf'), global_conf={'log_name': kind})
    eventlet.spawn(wsgi.server, eventlet.listen(('127.0.0.1', port), backlog=128), app, Quiet(), protocol=SwiftHttpProtocol, log_output=False, capitalize_response_headers=False)
print('ready', flush=True)
while os.getppid() == int(sys.argv[3]): eventlet.sleep(0.5)
`;

export class SwiftServer {
  readonly settings: S3Settings;
  readonly #child: ChildProcess;
  readonly #directory: string;

  private constructor(child: ChildProcess, directory: string, port: number) {
    this.#child = child;
    this.#directory = directory;
    this.settings = {
      bucket: 'backups',
      prefix: 'of/a cluster',
      endpoint: `http://127.0.0.1:${port}`,
      region: 'eu-test-1',
      pathStyle: true,
      accessKeyId: 'test:tester',
      secretAccessKey: 'testing',
      sessionToken: undefined,
    };
  }

  static async start(): Promise<SwiftServer> {
    const directory = mkdtempSync(join(tmpdir(), 'lockstep-swift-'));
    const ports = await freePorts(4);
    const script = join(directory, 'serve.py');
    writeFileSync(script, program);
    // Debian's own interpreter has its packages.
    const words = [script, join(directory, 'root'), ports.join(','), String(process.pid)];
    const child = spawn('/usr/bin/python3', words, { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await new Promise<void>((ready, failed) => {
      child.stdout.once('data', () => ready());
      child.once('exit', () => failed(new Error(said)));
    });
    return new SwiftServer(child, directory, ports[0] ?? 0);
  }

  async stop(): Promise<void> {
    const ended = new Promise((done) => this.#child.once('exit', done));
    this.#child.kill('SIGKILL');
    await ended;
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports: number[] = [];
  for (const server of servers) {
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    ports.push((server.address() as AddressInfo).port);
  }
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}
