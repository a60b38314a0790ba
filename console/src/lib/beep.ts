let sound: AudioContext | undefined;

// beep is high for what fits and low for what does not; a browser may refuse sound.
export function beep(ok: boolean): void {
  try {
    sound ??= new AudioContext();
    const tone = sound.createOscillator();
    const loud = sound.createGain();
    loud.gain.value = 0.12;
    tone.frequency.value = ok ? 1040 : 190;
    tone.type = ok ? 'sine' : 'square';
    tone.connect(loud).connect(sound.destination);
    tone.start();
    tone.stop(sound.currentTime + (ok ? 0.09 : 0.35));
  } catch {
    // the words say it too
  }
}
