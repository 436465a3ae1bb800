/** The files of `engine/deploy` agree with the configuration, the listeners' ports and paths, and the exit codes. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Certificate, Issuer } from '@kubernetes-models/cert-manager/cert-manager.io/v1';
import { validate as lintDockerfile } from 'dockerfile-utils';
import { StatefulSet } from 'kubernetes-models/apps/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Service } from 'kubernetes-models/v1';
import { parse, parseAllDocuments } from 'yaml';
import { describe, expect, test } from 'vitest';

import { statsAccess } from './api/stats/service.ts';
import { version } from './base/version.ts';
import { exitCodes } from './cli/exit-codes.ts';
import { nodeFlags } from './cli/start/runtime-flags.ts';
import type { NodeConfig } from './config/config.ts';
import { parseConfig } from './config/config.ts';

const textOf = (path: string): string => readFileSync(join(import.meta.dirname, 'deploy', path), 'utf8');
const dockerfile = textOf('Dockerfile');
const unit = textOf('lockstep.service');
const image = `lockstep:${version}`;

interface ComposeService {
  readonly image: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly ports: readonly string[];
  readonly read_only: boolean;
  readonly healthcheck: { readonly test: readonly string[] };
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string; readonly scheme: string };
}

interface Container {
  readonly image: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly securityContext: object;
}

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data: Readonly<Record<string, string>>;
  readonly spec: {
    readonly replicas: number;
    readonly serviceName: string;
    readonly secretName: string;
    readonly ports: readonly { readonly name: string; readonly port: number }[];
    readonly template: {
      readonly spec: {
        readonly enableServiceLinks: boolean;
        readonly containers: readonly Container[];
        readonly volumes: readonly {
          readonly name: string;
          readonly secret?: { readonly secretName: string };
        }[];
      };
    };
  };
}

function portsOf({ listen, pbListen, peerListen, statsListen }: NodeConfig): readonly number[] {
  return [listen, pbListen, peerListen, statsListen].map((address) => Number(address?.split(':').at(-1)));
}

const defaults = portsOf(parseConfig('lockstep:\n  name: n1\n', {}, 'defaults'));

test('the linter of Dockerfiles has nothing to say', () => {
  expect(lintDockerfile(dockerfile)).toEqual([]);
  expect(lintDockerfile(dockerfile.replace(/^USER node$/m, 'USER'))).toHaveLength(1);
});

test('the image exposes the default ports, runs without root, and probes a path that is open', () => {
  const exposed = /^EXPOSE (.*)$/m.exec(dockerfile)?.[1]?.split(' ').map(Number);
  expect(exposed).toEqual(defaults);
  expect(dockerfile).toMatch(/^USER node$/m);
  expect(dockerfile).toContain(`:22222${'/health/live'}`);
  expect(statsAccess.get('GET /health/live')).toBe('open');
  for (const [, path = ''] of dockerfile.matchAll(/^COPY (?!--from)(\S+)/gm))
    expect([path, path === '.' || existsSync(join(import.meta.dirname, '..', path))]).toEqual([path, true]);
});

describe('the compose file', () => {
  const { services } = parse(textOf('compose/compose.yaml'), { merge: true }) as {
    services: Readonly<Record<string, ComposeService>>;
  };

  test.each(Object.entries(services))('gives %s a valid configuration of its own', (name, service) => {
    expect([service.image, service.read_only]).toEqual([image, true]);
    const config = parseConfig(textOf('compose/lockstep.yaml'), service.environment, 'lockstep.yaml');
    expect([config.name, config.insecure, config.dataDir]).toEqual([name, true, '/data']);
    expect(portsOf(config)).toEqual(defaults);
    expect(service.volumes).toContain(`${name}:/data`);
    const published = service.ports.map((port) => Number(port.split(':').at(-1)));
    expect(defaults).toEqual(expect.arrayContaining(published));
    const asked = /:(\d+)(\/[a-z/]+)/.exec(service.healthcheck.test.join(' '));
    expect([Number(asked?.[1]), statsAccess.get(`GET ${asked?.[2] ?? ''}`)]).toEqual([defaults[3], 'open']);
  });

  test('puts each node in a rack of its own', () => {
    const racks = Object.values(services).map(({ environment }) => environment['LOCKSTEP_RACK']);
    expect(new Set(racks).size).toBe(3);
  });
});

describe('the manifests for Kubernetes', () => {
  const resources = parseAllDocuments(textOf('kubernetes/lockstep.yaml')).map((one) => {
    expect(one.errors).toEqual([]);
    return one.toJS() as Resource;
  });
  const named = (kind: string, name: string): Resource => {
    const found = resources.find((one) => one.kind === kind && one.metadata.name === name);
    if (found === undefined) throw new Error(`no ${kind} ${name}`);
    return found;
  };
  /** What checks a resource of each kind against the schema of Kubernetes or of cert-manager. */
  const models: Readonly<Record<string, new (resource: never) => { validate(): void }>> = {
    Certificate,
    ConfigMap,
    Issuer,
    PodDisruptionBudget,
    Service,
    StatefulSet,
  };
  const validate = (resource: Pick<Resource, 'kind'>): void => {
    const Model = models[resource.kind];
    if (Model === undefined) throw new Error(`no schema of ${resource.kind}`);
    new Model(resource as never).validate();
  };
  const { data } = named('ConfigMap', 'lockstep');
  const set = named('StatefulSet', 'lockstep');
  const pod = set.spec.template.spec;
  const [container] = pod.containers;

  test.each([0, 1, 2, 3, 4])(
    'give pod %i a valid configuration, as start.sh sets its variables',
    (number) => {
      const script = data['start.sh'] ?? '';
      const variables = [...script.matchAll(/export (LOCKSTEP_\w+)=/g)].map(([, name = '']) => name);
      const host = `lockstep-${number}`;
      const values: Readonly<Record<string, string>> = {
        LOCKSTEP_NAME: host,
        LOCKSTEP_RACK: `r${(number % 3) + 1}`,
        LOCKSTEP_PEER_ADVERTISE: `${host}.${set.spec.serviceName}:8101`,
        LOCKSTEP_JOIN: 'joining',
      };
      const environment = Object.fromEntries(
        variables
          .filter((name) => name !== 'LOCKSTEP_JOIN' || number >= 3)
          .map((name) => [name, values[name] ?? `${name} is not known to this test`]),
      );
      const config = parseConfig(data['lockstep.yaml'] ?? '', environment, 'lockstep.yaml');
      expect([config.name, config.join, config.seeds.length]).toEqual([
        host,
        number < 3 ? 'member' : 'joining',
        number < 3 ? 2 : 3,
      ]);
      const own = config.seeds.find(({ node }) => node === 'lockstep-1');
      if (own !== undefined) expect(own.rack).toBe('r2');
      expect(portsOf(config)).toEqual(defaults);
    },
  );

  test('are what the schemas of Kubernetes and cert-manager allow', () => {
    for (const resource of resources) validate(resource);
    const wrong = { ...set, spec: { ...set.spec, replicas: 'three' } };
    expect(() => {
      validate(wrong);
    }).toThrow('replicas must be integer');
  });

  test('mount every file that the configuration names', () => {
    const advertised = { LOCKSTEP_PEER_ADVERTISE: 'lockstep-0:8101' };
    const config = parseConfig(data['lockstep.yaml'] ?? '', advertised, 'lockstep.yaml');
    const files = [
      config.credentials,
      ...Object.values(config.tls ?? {}),
      ...Object.values(config.peerTls ?? {}),
    ];
    const mounts = container?.volumeMounts ?? [];
    for (const file of files.filter((one) => typeof one === 'string'))
      expect([file, mounts.some(({ mountPath }) => file.startsWith(`${mountPath}/`))]).toEqual([file, true]);
    const issued = resources.filter(({ kind }) => kind === 'Certificate').map(({ spec }) => spec.secretName);
    const secrets = pod.volumes.flatMap(({ secret }) => (secret === undefined ? [] : [secret.secretName]));
    const unknown = secrets.filter((name) => !issued.includes(name));
    expect(unknown).toEqual(['lockstep-credentials']);
  });

  test('probe open paths at the named ports, and set no variables that a node refuses', () => {
    expect([container?.image, pod.enableServiceLinks]).toEqual([image, false]);
    expect(container?.ports.map(({ containerPort }) => containerPort)).toEqual(defaults);
    for (const probe of [container?.startupProbe, container?.livenessProbe, container?.readinessProbe]) {
      const { path = '', port } = probe?.httpGet ?? {};
      expect([path, statsAccess.get(`GET ${path}`), port]).toEqual([path, 'open', 'stats']);
    }
    for (const name of ['lockstep', 'lockstep-peers'])
      for (const { port } of named('Service', name).spec.ports) expect(defaults).toContain(port);
  });
});

test('the unit does not start a node again whose configuration is wrong', () => {
  expect(unit).toContain(`RestartPreventExitStatus=${exitCodes.usage}\n`);
  expect(unit).toMatch(/^ExecStart=\S+ (?:--\S+ )*\S+\/dist\/engine\/main\.js start --config \S+$/m);
  expect(unit).toMatch(/^ExecReload=\/bin\/kill -HUP \$MAINPID$/m);
});

describe('the unit of several nodes a machine', () => {
  const template = textOf('machines/lockstep@.service');
  const assignments = [...template.matchAll(/^(?:Environment|ExecStart)=(.*)$/gm)].flatMap(([, words = '']) =>
    words.split(' ').filter((word) => word.startsWith('LOCKSTEP_')),
  );

  test.each(['m1-1', 'm1-4', 'm3-2'])('gives %s a valid configuration of its own', (name) => {
    const [machine = '', number = ''] = name.split('-');
    const filled = assignments.map((one) => one.replaceAll('%i', number).replaceAll('${MACHINE}', machine));
    const environment = Object.fromEntries([
      ...filled.map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)]),
      ['LOCKSTEP_RACK', `r${machine.slice(1)}`],
    ]) as Readonly<Record<string, string>>;
    const config = parseConfig(textOf('machines/lockstep.yaml'), environment, 'lockstep.yaml');
    // An entry of the node itself that differed would be refused; its address must be the one that it gives others.
    expect([config.name, config.seeds.length]).toEqual([name, 11]);
    expect(textOf('machines/lockstep.yaml')).toContain(`'${config.peerAdvertise ?? ''}'`);
    expect(config.dataDir).toBe(`/var/lib/lockstep/${number}`);
    expect(new Set([...portsOf(config), Number(config.redisListen?.split(':').at(-1))]).size).toBe(5);
  });

  test('is the unit of one node but for its variables', () => {
    const restOf = (text: string): readonly string[] =>
      text
        .slice(text.indexOf('Documentation='))
        .split('\n')
        .filter((line) => !/^(?:Environment\w*|ExecStart)=/.test(line));
    expect(restOf(template)).toEqual(restOf(unit));
    expect(template).toContain(/\/usr\/bin\/node .*$/m.exec(unit)?.[0] ?? 'nothing');
  });
});

test('each of them starts a node with the flags of Node.js that `lockstep cluster` gives its nodes', () => {
  const kubernetes = textOf('kubernetes/lockstep.yaml');
  const flags = nodeFlags.join(' ');
  expect(dockerfile).toContain(
    `ENTRYPOINT ${JSON.stringify(['node', ...nodeFlags, 'dist/engine/main.js']).replaceAll(',', ', ')}`,
  );
  expect(unit).toContain(`/node ${flags} /opt/lockstep/dist/engine/main.js start`);
  expect(kubernetes).toContain(`exec node ${flags} dist/engine/main.js start`);
});
