import type { Resource, WayStep } from '../event.ts'

const MAX_PATH = 300
const MAX_KEY = 100

/** The way from an object to one of its values. */
export class Trail {
  readonly resource: Pick<Resource, 'group' | 'kind'>
  readonly parent: Trail | undefined
  /** The member's name; of an item of a list what identifies it. */
  readonly key: string
  readonly depth: number
  /** The object's own member that it leads through. */
  readonly top: string
  /** Of an item: what `key` is the value of; '' when it is a place. */
  readonly #label: string | undefined

  constructor(resource: Pick<Resource, 'group' | 'kind'>, parent?: Trail, key = '', label?: string) {
    this.resource = resource
    this.parent = parent
    this.key = key
    this.#label = label
    this.depth = parent ? parent.depth + 1 : 0
    this.top = parent?.parent ? parent.top : key
  }

  member(name: string): Trail {
    return new Trail(this.resource, this, name)
  }

  item(label: string, key: string): Trail {
    return new Trail(this.resource, this, key, label)
  }

  /** `spec.template.spec.containers[name=web].image`, `metadata.labels["app.kubernetes.io/name"]`. */
  text(): string {
    const steps: string[] = []
    for (let at: Trail | undefined = this; at?.parent; at = at.parent) steps.push(at.#step())
    return cut(steps.reverse().join('').replace(/^\./, ''), MAX_PATH)
  }

  /** From the object to the value. */
  way(): WayStep[] {
    const steps: WayStep[] = []
    for (let at: Trail | undefined = this; at?.parent; at = at.parent)
      steps.push({ label: at.#label, key: at.key })
    return steps.reverse()
  }

  #step(): string {
    const key = cut(this.key, MAX_KEY)
    if (this.#label === undefined)
      return /^[A-Za-z_$][\w$-]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
    const value = /^[\w.:/@+-]+$/.test(key) ? key : JSON.stringify(key)
    return this.#label === '' ? `[${value}]` : `[${this.#label}=${value}]`
  }
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
