import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../packed.ts'

export interface Instruction {
  name: string
  text: string
}

export interface Stage {
  /** As in FROM: image with tag and digest. */
  base: string
  alias: string | undefined
  instructions: Instruction[]
}

/** The stages of the Dockerfile, in its order: as much of its grammar as ours uses. */
export function readDockerfile(text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')): Stage[] {
  const lines = text.replaceAll(/^\s*#.*\n/gm, '').replaceAll(/\\\n\s*/g, '')
  const stages: Stage[] = []
  for (const line of lines.split('\n').filter((it) => it.trim() !== '')) {
    const [, name, rest] = /^([A-Z]+) (.*)$/.exec(line) ?? []
    if (!name || rest === undefined) throw new Error(`not an instruction: ${line}`)
    const from = /^(?:--platform=\S+ )?(\S+)(?: AS (\S+))?$/.exec(rest)
    if (name === 'FROM') stages.push({ base: from?.[1] as string, alias: from?.[2], instructions: [] })
    else stages.at(-1)?.instructions.push({ name, text: rest })
  }
  return stages
}

/** What an instruction says each time that it stands in the stage. */
export function all(stage: Stage, name: string): string[] {
  return stage.instructions.filter((it) => it.name === name).map(({ text }) => text)
}

/** KEY=value pairs, with or without quotes. */
export function pairs(stage: Stage, name: 'ENV' | 'LABEL' | 'ARG'): Record<string, string> {
  const found = all(stage, name).flatMap((text) => [...text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g)])
  return Object.fromEntries(found.map(([, key, quoted, plain]) => [key, quoted ?? plain]))
}
