import { type Database, type DatabaseOptions, type DatabaseStatus, database } from '../manifests/database.ts'
import type { Stored } from '../objects.ts'
import type { Scene, World } from './world.ts'

/** The operator makes a new database ready. */
export function* provision(world: World, options: DatabaseOptions): Scene<Stored<Database>> {
  const it = world.store.put(database(options))
  yield
  tell(world, it, 'Normal', 'Provisioning', `Creating volume and ${it.spec.replicas} replicas`)
  setStatus(world, it, { phase: 'Provisioning', message: 'waiting for volumes' })
  yield
  for (let ready = 1; ready <= it.spec.replicas; ready++) {
    setStatus(world, it, {
      readyReplicas: ready,
      message: `${ready} of ${it.spec.replicas} replicas are ready`,
    })
    yield
  }
  const endpoint = `${options.name}.${options.namespace}.svc:5432`
  setStatus(world, it, {
    phase: 'Ready',
    endpoint,
    version: options.version,
    message: 'all replicas are ready',
  })
  tell(world, it, 'Normal', 'Ready', `Database is ready at ${endpoint}`)
  yield
  return it
}

/** A minor upgrade, replica after replica. */
export function* upgrade(world: World, it: Stored<Database>): Scene {
  const version = nextMinor(world.store.get<Database>(it)?.spec.version ?? it.spec.version)
  world.change(it, (current) => ({ ...current, spec: { ...current.spec, version } }))
  yield
  tell(world, it, 'Normal', 'UpgradeStarted', `Upgrading to ${version}`)
  for (let done = 0; done < it.spec.replicas; done++) {
    const readyReplicas = it.spec.replicas - 1
    setStatus(world, it, {
      phase: 'Upgrading',
      readyReplicas,
      message: `replica ${done} restarts with ${version}`,
    })
    yield
  }
  if (world.chance.between(0, 1) === 0) {
    tell(world, it, 'Warning', 'ReplicationLag', 'Replica 2 is 14s behind the primary')
    yield
  }
  setStatus(world, it, {
    phase: 'Ready',
    readyReplicas: it.spec.replicas,
    version,
    message: 'all replicas are ready',
  })
  tell(world, it, 'Normal', 'UpgradeFinished', `Now at ${version}`)
  yield
}

export function* backUp(world: World, it: Stored<Database>): Scene {
  setStatus(world, it, { phase: 'BackingUp', message: 'base backup is running' })
  yield
  yield
  setStatus(world, it, { phase: 'Ready', lastBackup: world.now(), message: 'all replicas are ready' })
  tell(world, it, 'Normal', 'BackupFinished', `Stored ${world.chance.between(38, 44)} GiB`)
  yield
}

export function* retire(world: World, it: Stored<Database>): Scene {
  setStatus(world, it, { phase: 'Deleting', message: 'volumes are being deleted' })
  yield
  world.store.remove(it)
}

function setStatus(world: World, it: Stored<Database>, status: Partial<DatabaseStatus>): void {
  world.change(it, (current) => {
    const observedGeneration = current.metadata.generation ?? 1
    return { ...current, status: { ...current.status, observedGeneration, ...status } }
  })
}

function tell(
  world: World,
  it: Stored<Database>,
  type: 'Normal' | 'Warning',
  reason: string,
  message: string,
): void {
  world.tell(it, { type, reason, message, from: 'database-operator' })
}

function nextMinor(version: string): string {
  const [major = '17', minor = '0'] = version.split('.')
  return `${major}.${Number(minor) + 1}`
}
