import { changeAt, changesOf } from './changes.ts'
import { at, list, text } from './read.ts'
import type { Told } from './told.ts'
import { listed, oneLine } from './wording.ts'

/** `nginx:1 → nginx:2`, for each image below a pod template that was replaced. Not for containers that came or went. */
export function imagesReplaced(told: Told, template: string): string[] {
  const arrows = [...pathsOfImages(told, template)].flatMap((path) => {
    const { old, new: now } = changeAt(told, path) ?? {}
    return typeof old === 'string' && typeof now === 'string' ? [replaced(old, now)] : []
  })
  return [...new Set(arrows)]
}

/** Of those that changed by themselves, and of all containers, for when a whole list of them changed. */
function pathsOfImages(told: Told, template: string): Set<string> {
  const changed = changesOf(told)
    .map(({ path }) => path)
    .filter((path) => path.startsWith(`${template}.spec.`) && IMAGE.test(path))
  const pod = at(told.object, ...template.split('.'), 'spec')
  const known = ['containers', 'initContainers'].flatMap((part) =>
    list(pod, part).map((it) => `${template}.spec.${part}[name=${text(it, 'name')}].image`),
  )
  return new Set([...changed, ...known])
}

const IMAGE = /\.(?:initC|c)ontainers\[[^\]]*\]\.image$/

function replaced(old: string, now: string): string {
  const same = repositoryOf(old) === repositoryOf(now)
  return same ? `${shortImage(old)} → ${shortImage(now)}` : `${clip(old)} → ${clip(now)}`
}

function repositoryOf(image: string): string {
  return image.replace(/@.*$/, '').replace(/:[^/:]*$/, '')
}

/** Without registry and folders, and with the beginning of a digest: `web:1.4@sha256:0f3a9c21`. */
function shortImage(image: string): string {
  return clip(image.slice(image.replace(/@.*$/, '').lastIndexOf('/') + 1))
}

function clip(image: string): string {
  return oneLine(image.replace(/(@sha256:[0-9a-f]{8})[0-9a-f]+/, '$1'), 90)
}

/** The images of a pod template's containers. */
export function imagesIn(template: unknown): string {
  const images = list(template, 'spec', 'containers')
    .map((it) => text(it, 'image'))
    .filter((it) => it !== '')
  return listed(images, 3)
}
