import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { waitFor } from '../wait-for.ts'
import type { Kubeherald } from './kubeherald.ts'

/** A running kubeherald's configuration, exchanged as the kubelet does with the volume of a ConfigMap. */
export interface ConfigMap {
  /** Exchanges all files at once, by one symbolic link. */
  swap(config: string, others?: Record<string, string>): void
  /** Swaps, asks by SIGHUP, and waits until it is in use. */
  reload(config: string, others?: Record<string, string>): Promise<void>
  /** Waits until so many configurations were put in force since the start. */
  applied(count: number): Promise<unknown>
  /** How many were so far. */
  count(): Promise<number>
}

export function mountConfigMap(kubeherald: Kubeherald): ConfigMap {
  const { configFile } = kubeherald
  const dir = dirname(configFile)
  const server = readFileSync(configFile, 'utf8').trim().split('\n').at(-1) as string
  let version = 0

  function swap(config: string, others: Record<string, string> = {}): void {
    const folder = `..version_${++version}`
    mkdirSync(join(dir, folder))
    const files = { 'kubeherald.yaml': `${config.trim()}\n${server}\n`, ...others }
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(dir, folder, name), text)
      symlinkSync(join('..data', name), join(dir, `${name}.link`))
    }
    symlinkSync(folder, join(dir, '..data_tmp'))
    renameSync(join(dir, '..data_tmp'), join(dir, '..data'))
    for (const name of Object.keys(files)) renameSync(join(dir, `${name}.link`), join(dir, name))
  }

  const count = async () =>
    Number(
      /^kubeherald_config_reloads_total\{result="success"\} (\d+)/m.exec(await kubeherald.metrics())?.[1] ??
        0,
    )
  const applied = (wanted: number) =>
    waitFor(async () => (await count()) >= wanted, {
      timeoutMs: 20_000,
      what: () => `reload ${wanted}; it said:\n${kubeherald.log().slice(-2_000)}`,
    })
  return {
    swap,
    applied,
    count,
    async reload(config, others) {
      const before = await count()
      swap(config, others)
      kubeherald.signal('SIGHUP')
      await applied(before + 1)
    },
  }
}
