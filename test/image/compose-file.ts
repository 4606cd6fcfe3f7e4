import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { ROOT } from '../packed.ts'

export interface Service {
  image: string
  profiles?: string[]
  command?: string[]
  entrypoint?: string[]
  environment?: Record<string, string>
  user?: string
  read_only?: boolean
  cap_drop?: string[]
  security_opt?: string[]
  restart?: string
  healthcheck?: { test: string[] }
  ports?: string[]
  volumes?: string[]
  mem_limit?: string
}

/** The compose file's services, with what anchors share. Variables stand as they are written. */
export function readComposeFile(): { text: string; services: Record<string, Service> } {
  const text = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8')
  const { services } = parse(text, { merge: true }) as { services: Record<string, Service> }
  return { text, services }
}
