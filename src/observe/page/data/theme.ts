import { signal } from '@preact/signals'

const STORED = 'kubeherald-theme'
const THEMES = ['auto', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

/** The choice of the reader; `auto` follows the system. */
export const theme = signal<Theme>(THEMES.find((it) => it === localStorage.getItem(STORED)) ?? 'auto')

export function applyTheme(): void {
  document.documentElement.dataset['theme'] = theme.value
  dispatchEvent(new Event('theme'))
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'auto'
  localStorage.setItem(STORED, theme.value)
  applyTheme()
}
