; "Index with Lodestone" in the menu of files, of folders and of what lies between them.
; dx includes this file between the section that installs and the one that uninstalls.

!macro IndexWithLodestone PLACE NAME
  WriteRegStr SHCTX "Software\Classes\${PLACE}\shell\Lodestone" "" "Index with Lodestone"
  WriteRegStr SHCTX "Software\Classes\${PLACE}\shell\Lodestone" "Icon" '"$INSTDIR\lodestone.exe"'
  WriteRegStr SHCTX "Software\Classes\${PLACE}\shell\Lodestone\command" "" '"$INSTDIR\lodestone.exe" -- "${NAME}"'
!macroend

Section "-ContextMenu"
  !insertmacro IndexWithLodestone "*" "%1"
  !insertmacro IndexWithLodestone "Directory" "%1"
  !insertmacro IndexWithLodestone "Directory\Background" "%V"
SectionEnd

Section "-un.ContextMenu"
  DeleteRegKey SHCTX "Software\Classes\*\shell\Lodestone"
  DeleteRegKey SHCTX "Software\Classes\Directory\shell\Lodestone"
  DeleteRegKey SHCTX "Software\Classes\Directory\Background\shell\Lodestone"
SectionEnd
